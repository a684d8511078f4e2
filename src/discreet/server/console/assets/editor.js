// The editor of a domain: line numbers, and what is wrong with the text while one types. Without it, a button checks.

document.documentElement.classList.add("scripted");

const PATIENCE = 250; // milliseconds of quiet before a changed text is looked at
const form = document.getElementById("editor");
const text = document.getElementById("text");
const gutter = document.getElementById("gutter");
const found = document.getElementById("found");
let saved = text.value;
let running;

/** Line numbers, with those marked at which something is to be mended. */
function number() {
  const wrong = new Set([...found.querySelectorAll(".problems [data-line]")].map((link) => Number(link.dataset.line)));
  const lines = text.value.split("\n").map((_, place) => {
    const said = document.createElement("span");
    said.textContent = `${place + 1}\n`;
    if (wrong.has(place + 1)) said.className = "wrong";
    return said;
  });
  gutter.replaceChildren(...lines);
  gutter.scrollTop = text.scrollTop;
}

/** Send the text and show what is said of it. A later call makes an earlier one moot. */
async function send(deed) {
  running?.abort();
  const control = (running = new AbortController());
  const body = new URLSearchParams(new FormData(form));
  body.set("deed", deed);
  found.setAttribute("aria-busy", "true");
  try {
    const reply = await fetch(form.action, { method: "POST", headers: { "X-Part": "1" }, body, signal: control.signal });
    if (reply.redirected) return location.reload();
    if (!reply.headers.get("Content-Type")?.startsWith("text/html")) return refuse(await reply.text());
    found.innerHTML = await reply.text();
    if (deed === "save" && !found.querySelector("[role=alert]")) saved = body.get("text").replaceAll("\r\n", "\n");
    number();
  } catch (error) {
    if (error.name !== "AbortError") refuse("The editor did not answer. Is it still running?");
  } finally {
    if (running === control) found.removeAttribute("aria-busy");
  }
}

function refuse(words) {
  const said = document.createElement("p");
  said.className = "refusal";
  said.setAttribute("role", "alert");
  said.textContent = words;
  found.querySelector("[role=alert]")?.remove();
  found.prepend(said);
}

let waiting;
text.addEventListener("input", () => {
  number();
  clearTimeout(waiting);
  waiting = setTimeout(() => send("check"), PATIENCE);
});
text.addEventListener("scroll", () => (gutter.scrollTop = text.scrollTop));
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  const button = event.submitter;
  if (button) button.disabled = true;
  await send(button?.value ?? "save");
  if (button) button.disabled = false;
});
form.addEventListener("keydown", (event) => {
  if (event.key === "s" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    send("save");
  }
});
found.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-line]");
  if (!link) return;
  event.preventDefault();
  const lines = text.value.split("\n");
  const line = Number(link.dataset.line);
  const start = lines.slice(0, line - 1).join("\n").length + (line > 1 ? 1 : 0);
  text.focus();
  text.setSelectionRange(start, start + (lines[line - 1] ?? "").length);
  text.scrollTop = (line - 5) * (text.scrollHeight / lines.length);
});
addEventListener("beforeunload", (event) => {
  if (text.value !== saved) event.preventDefault();
});
number();
