// What the pages do besides being read. Everything works without it, with a page for each step.

import { editSql } from "./sql.js";

document.documentElement.classList.add("scripted");

const ROOT = document.documentElement.dataset.root; // what the addresses of this vault begin with
const PATIENCE = 180; // milliseconds of quiet before a changed form is looked at

/** The part of a page that an address or a form stands for, as HTML. A later call makes an earlier one moot. */
const running = new Map();
async function fetchPart(target, address, options = {}) {
  running.get(target)?.abort();
  const control = new AbortController();
  running.set(target, control);
  target.setAttribute("aria-busy", "true");
  try {
    const reply = await fetch(address, {
      ...options,
      headers: { "X-Part": "1", ...options.headers },
      signal: control.signal,
    });
    if (reply.redirected && new URL(reply.url).pathname.endsWith("/login")) {
      location.reload();
      return false;
    }
    const text = await reply.text();
    const restore = keepFocus(target);
    if (reply.headers.get("Content-Type")?.startsWith("text/html")) target.innerHTML = text;
    else refuse(target, JSON.parse(text).error?.message ?? "The server refused.");
    restore();
    return reply.ok;
  } catch (error) {
    if (error.name === "AbortError") return false;
    refuse(target, "The server did not answer. Is it still running?");
    return false;
  } finally {
    if (running.get(target) === control) {
      running.delete(target);
      target.removeAttribute("aria-busy");
    }
  }
}

function refuse(target, words) {
  const said = document.createElement("p");
  said.className = "refusal";
  said.setAttribute("role", "alert");
  said.textContent = words;
  target.replaceChildren(said);
}

/** Who has the focus keeps it when a part is replaced, and what was typed meanwhile stays. */
function keepFocus(target) {
  const held = document.activeElement;
  if (!target.contains(held)) return () => {};
  const { id, value, selectionStart, selectionEnd } = held;
  const address = held.getAttribute("href");
  return () => {
    const found =
      (id && document.getElementById(id)) || [...target.querySelectorAll("a")].find((a) => a.getAttribute("href") === address);
    found?.focus({ preventScroll: true });
    if (found?.matches("input:not([type]), textarea")) {
      found.value = value;
      found.setSelectionRange(selectionStart, selectionEnd);
    }
  };
}

function postForm(form, button) {
  return {
    method: "POST",
    headers: { "Content-Type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(new FormData(form, button)),
  };
}

function later(work) {
  let waiting;
  return () => {
    clearTimeout(waiting);
    waiting = setTimeout(work, PATIENCE);
  };
}

function askPage(form) {
  const forecast = document.getElementById("told");
  const curve = document.getElementById("curve");
  let drawn = null;
  /** What accuracy costs, for another question than the last one drawn. */
  const draw = later(async () => {
    const address = new URL(addressOf(form), location);
    address.searchParams.delete("within");
    if (address.search === drawn) return;
    drawn = address.search;
    await fetchPart(curve, `${curve.dataset.curve}?${new URL(addressOf(form), location).searchParams}`);
  });
  const answer = document.getElementById("answer");
  const sql = document.getElementById("sql");
  const editor = editSql(sql.closest(".sql-sheet"));
  const explain = async () => {
    countChoices(form);
    await fetchPart(forecast, form.dataset.explain, postForm(form));
    const shown = forecast.querySelector("[data-sql]");
    const price = forecast.querySelector("[data-price]")?.dataset.price;
    for (const said of form.querySelectorAll("button.primary [data-price]")) said.textContent = price ? ` · ${price}` : "";
    draw();
    const place = forecast.querySelector("[data-place]")?.dataset.place;
    editor.mark(place ? place.split(" ").map(Number) : null);
    if (form.elements.mode.value === "pick" && shown) sql.value = shown.textContent;
    if (form.elements.mode.value === "pick") {
      sql.setSelectionRange(sql.value.length, sql.value.length);
      editor.paint();
    }
  };
  const change = later(async () => {
    const address = addressOf(form);
    if (history.state?.answered) history.pushState(null, "", address);
    else history.replaceState(null, "", address);
    await explain();
  });
  form.addEventListener("input", (event) => {
    const { sets, values } = event.target.dataset;
    if (sets) form.elements[sets].value = values.split(" ")[Number(event.target.value)];
    change();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const button = form.querySelector("button.primary");
    button.disabled = true;
    const asked = addressOf(form);
    if (await fetchPart(answer, form.action, postForm(form, event.submitter))) {
      history.replaceState({ answered: true }, "", asked); // the question's own address: reload, share, come back
      document.title = document.title.replace(/^.*?(?= · )/, "Answer");
    }
    button.disabled = false;
    answer.scrollIntoView({ block: "nearest", behavior: "smooth" });
    await explain();
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  explain();
}

/** The address of the question in a form: fields that say something, of pick and SQL the half that counts. */
function addressOf(form) {
  const said = new URLSearchParams();
  const typed = form.elements.mode.value === "sql";
  for (const [name, value] of new FormData(form)) {
    const clicked = /^(table|aggregate|of|by|(from|to|in)\..*)$/.test(name);
    if (!value.trim() || (typed ? clicked : name === "sql")) continue;
    if (name === "confidence" && form.elements.confidence.dataset.usual === value) continue;
    if ((name === "estimate" && value === "unbiased") || (name === "of" && form.elements.aggregate.value === "count")) continue;
    said.append(name, value);
  }
  return `${form.getAttribute("action")}?${said}`;
}

function countChoices(form) {
  for (const details of form.querySelectorAll("details.filter")) {
    const chosen = [...details.querySelectorAll("input:checked")].map((box) => box.nextElementSibling.textContent);
    details.querySelector("[data-count]").textContent = chosen.length ? chosen.join(", ") : "any";
  }
}

/** A form that shows its part again whenever it changes, and keeps the address in step; it may be in that part. */
const looks = new WeakMap();
function look(form) {
  if (!looks.has(form)) {
    const show = () => {
      const address = `${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`;
      history.replaceState(null, "", address);
      fetchPart(document.querySelector(form.dataset.live), address);
    };
    looks.set(form, later(show));
  }
  looks.get(form)();
}

document.addEventListener("input", (event) => {
  const form = event.target.closest?.("form[data-live]");
  if (!form) return;
  for (const shown of form.querySelectorAll(`output[for="${event.target.id}"]`)) shown.value = shownValue(event.target);
  look(form);
});
document.addEventListener("submit", (event) => {
  const form = event.target.closest?.("form[data-live]");
  if (!form) return;
  event.preventDefault();
  look(form);
});

function shownValue(field) {
  const values = field.dataset.values?.split(" ");
  return values ? values[Number(field.value)] : field.value;
}

/** Links that change one part of the page only; going back shows the page as it was. */
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-part]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  const target = document.querySelector(link.dataset.part);
  if (!target) return;
  event.preventDefault();
  history.pushState(null, "", link.href);
  fetchPart(target, link.href);
});
addEventListener("popstate", () => location.reload());

/** Heat maps: what is under the pointer, in words. */
document.addEventListener("pointermove", (event) => {
  const map = event.target.closest?.("svg[data-heat]");
  if (!map) return;
  const { rows, columns, values } = (map.read ??= JSON.parse(map.dataset.heat));
  const plot = map.querySelector(".ground").getBoundingClientRect();
  const column = Math.floor(((event.clientX - plot.left) / plot.width) * columns.length);
  const row = Math.floor(((event.clientY - plot.top) / plot.height) * rows.length);
  const said = values[row]?.[column];
  const output = map.closest("figure").querySelector("output");
  if (said !== undefined && rows[row] !== undefined) output.value = `${rows[row]} · ${columns[column]}: ${said}`;
});

document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });
const question = document.getElementById("question");
if (question) askPage(question);

/** Tell how far a publication is, until it has ended; then go on where it is to be seen. */
async function follow(name, said, onward, job) {
  try {
    while (job === undefined || job.state === "running") {
      if (job) said.value = `${job.doing}, ${Math.round(100 * job.done)}%`;
      await new Promise((resolve) => setTimeout(resolve, 250));
      job = await (await fetch(`${ROOT}api/v1/jobs/${encodeURIComponent(name)}`)).json();
    }
    if (job.state === "done") location.assign(onward);
    else said.value = job.error?.message ?? `the publication was ${job.state}`;
  } catch {
    said.value = "The server did not answer. Is it still running?";
  }
}
for (const said of document.querySelectorAll("output[data-job]")) follow(said.dataset.job, said, said.dataset.onward);

/** Publish a planned cube by the API. */
document.addEventListener("submit", async (event) => {
  const form = event.target.closest?.("form[data-publish]");
  if (!form) return;
  event.preventDefault();
  const { currency, amount, planner, cuboids, dimensions, table } = form.dataset;
  const name = form.elements.name.value;
  const said = form.querySelector("output");
  form.querySelector("button").disabled = true;
  const order = { [currency]: amount, planner, dimensions: dimensions.split("|") };
  if (table) order.table = table;
  if (cuboids !== "all") order.cuboids = Number(cuboids);
  if (form.elements.modelled.checked) order.estimate = "modelled";
  const reply = await fetch(`${ROOT}api/v1/cubes/${encodeURIComponent(name)}`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(order),
  }).catch(() => null);
  const job = await reply?.json().catch(() => null);
  if (!reply?.ok) said.value = job?.error?.message ?? "The server did not answer. Is it still running?";
  else await follow(name, said, `${ROOT}cube/${encodeURIComponent(name)}`, job);
  form.querySelector("button").disabled = false;
});

/** A form that shows a part ahead of being sent. */
const previews = new WeakMap();
document.addEventListener("input", (event) => {
  const form = event.target.closest?.("form[data-preview]");
  if (!form) return;
  if (!previews.has(form)) {
    const target = document.querySelector(form.dataset.preview);
    const show = () => fetchPart(target, `${form.getAttribute("action")}?${new URLSearchParams(new FormData(form))}`);
    previews.set(form, later(show));
  }
  previews.get(form)();
});

/** Copy what a field holds. */
document.addEventListener("click", async (event) => {
  const button = event.target.closest?.("button[data-copy]");
  if (!button) return;
  const field = document.getElementById(button.dataset.copy);
  field.select();
  try {
    await navigator.clipboard.writeText(field.value);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Press Ctrl+C"; // without TLS browsers leave it to the keyboard
  }
});
