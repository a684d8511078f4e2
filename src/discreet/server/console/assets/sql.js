// The SQL editor: highlighting, completion and mistakes at their place, over a text field that works without them.

const WORDS =
  "SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT AND OR NOT IN BETWEEN IS NULL AS CASE WHEN THEN ELSE END DISTINCT WITH FILTER OVER DESC ASC LIKE TRUE FALSE UNION ALL JOIN ON USING ROLLUP CUBE QUALIFY PARTITION".split(" ");
const CALLS =
  "COUNT SUM AVG MEDIAN MIN MAX QUANTILE COUNT_IF STDDEV VARIANCE CORR FLOOR ROUND COALESCE GREATEST LEAST EXTRACT UPPER LOWER".split(" ");
const TOKEN = /('(?:[^']|'')*'?)|("(?:[^"]|"")*"?)|(--[^\n]*)|(\d+(?:\.\d+)?)|([A-Za-z_][\w]*)|(\s+|[^])/g;
const MOST = 8;

export function editSql(sheet) {
  const field = sheet.querySelector("textarea");
  const shown = sheet.querySelector("pre");
  const list = sheet.querySelector("[role=listbox]");
  const { tables } = JSON.parse(sheet.dataset.schema);
  const columns = tables.flatMap((table) => table.columns);
  const names = new Set([...columns, ...tables].map(({ name }) => name.toLowerCase()));
  let wrong = null;
  let offered = [];
  let chosen = -1;

  const kindOf = ([, text, , comment, number, word]) => {
    if (text) return "text";
    if (comment) return "comment";
    if (number) return "number";
    if (!word) return "";
    if (WORDS.includes(word.toUpperCase())) return "keyword";
    if (CALLS.includes(word.toUpperCase())) return "call";
    return names.has(word.toLowerCase()) ? "name" : "";
  };

  function paint() {
    const parts = [];
    for (const found of field.value.matchAll(TOKEN)) {
      const said = document.createElement("span");
      said.className = kindOf(found);
      if (wrong && found.index < wrong[1] && found.index + found[0].length > wrong[0]) said.className += " wrong";
      said.textContent = found[0];
      parts.push(said);
    }
    shown.replaceChildren(...parts, "\n");
    shown.scrollTop = field.scrollTop;
  }

  const described = ({ name, kind, ends }) => ({ text: name, about: ends || kind });
  const called = ({ name }) => ({ text: name, about: "table" });
  const begun = (all, word) => {
    const start = word.toLowerCase();
    return all.filter(({ text }) => text.toLowerCase().startsWith(start) && text.toLowerCase() !== start);
  };
  const find = (name) => tables.find((table) => table.name.toLowerCase() === name.toLowerCase());

  /** The tables that the text reads, each with the name that it has there. */
  function sources() {
    const found = [...field.value.matchAll(/\b(?:FROM|JOIN)\s+(\w+)(?:\s+(?:AS\s+)?(\w+))?/gi)];
    return found
      .map(([, name, alias]) => ({ table: find(name), alias: !alias || WORDS.includes(alias.toUpperCase()) ? name : alias }))
      .filter(({ table }) => table);
  }

  /** The columns that a table may be asked by: its own, and those of the tables above it. */
  const columnsOf = (table) => [table, ...table.above.map(find)].flatMap((one) => one.columns);

  /** Joins along the declared keys, of the tables that the text reads with their parents, and the other way round. */
  function joins() {
    const read = sources();
    const on = ({ join }, mine, its) => `${mine}.${join.own} = ${its}.${join.its}`;
    const up = read.filter(({ table }) => table.join).map(({ table, alias }) => `${table.join.parent} ON ${on(table, alias, table.join.parent)}`);
    const down = read.flatMap(({ table, alias }) =>
      tables.filter(({ join }) => join?.parent === table.name).map((one) => `${one.name} ON ${on(one, one.name, alias)}`),
    );
    return [...up, ...down].map((text) => ({ text, about: "by its key" }));
  }

  const people = () =>
    [...new Set(tables.map(({ person }) => person).filter(Boolean))].map((id) => ({ text: `COUNT(DISTINCT ${id})`, about: "people" }));

  /** The word before the caret, or the text in quotes that it is in, and what it may become. */
  function offers() {
    const before = field.value.slice(0, field.selectionStart);
    const quoted = before.match(/'[^']*$/);
    if (quoted && before.split("'").length % 2 === 0) {
      const start = quoted[0].slice(1).toLowerCase();
      const values = columns.flatMap((column) => column.values.map((value) => ({ text: value, about: column.name, quote: true })));
      return [quoted[0].length - 1, values.filter(({ text }) => text.toLowerCase().startsWith(start))];
    }
    const word = before.match(/[A-Za-z_]\w*$/)?.[0] ?? "";
    const qualified = before.match(/(\w+)\.\w*$/);
    if (qualified) {
      const of = sources().find(({ alias }) => alias.toLowerCase() === qualified[1].toLowerCase());
      return [word.length, begun(of ? columnsOf(of.table).map(described) : [], word)];
    }
    if (/\bJOIN\s+\w*$/i.test(before)) return [word.length, begun([...joins(), ...tables.map(called)], word)];
    if (!word) return [0, []];
    const all = [
      ...columns.map(described),
      ...tables.map(called),
      ...people(),
      ...CALLS.map((text) => ({ text, about: "function" })),
      ...WORDS.map((text) => ({ text, about: "" })),
    ];
    return [word.length, begun(all, word)];
  }

  function offer() {
    const [, found] = document.activeElement === field ? offers() : [0, []];
    offered = found.slice(0, MOST);
    chosen = -1;
    list.replaceChildren(
      ...offered.map(({ text, about }, place) => {
        const line = document.createElement("li");
        line.id = `offer-${place}`;
        line.setAttribute("role", "option");
        line.setAttribute("aria-selected", "false");
        line.append(text, " ");
        const said = document.createElement("span");
        said.textContent = about;
        line.append(said);
        return line;
      }),
    );
    list.hidden = !offered.length;
    field.removeAttribute("aria-activedescendant");
  }

  function choose(place) {
    chosen = (place + offered.length) % offered.length;
    for (const [at, line] of [...list.children].entries()) line.setAttribute("aria-selected", String(at === chosen));
    field.setAttribute("aria-activedescendant", `offer-${chosen}`);
  }

  function take(place) {
    const [length] = offers();
    const { text, quote } = offered[place];
    const end = field.selectionStart;
    field.setRangeText(quote ? `${text.replaceAll("'", "''")}'` : text, end - length, end, "end");
    tell();
    list.hidden = true;
    offered = [];
  }

  function tell() {
    wrong = null;
    paint();
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  field.addEventListener("input", () => {
    wrong = null;
    paint();
    offer();
  });
  field.addEventListener("scroll", () => (shown.scrollTop = field.scrollTop));
  field.addEventListener("blur", () => setTimeout(offer, 150));
  field.addEventListener("keydown", (event) => {
    if (list.hidden || event.ctrlKey || event.metaKey) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") choose(chosen + (event.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1));
    else if (event.key === "Tab" && chosen < 0 && offered.length === 1) take(0);
    else if ((event.key === "Enter" || event.key === "Tab") && chosen >= 0) take(chosen);
    else if (event.key === "Escape") list.hidden = true;
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  list.addEventListener("pointerdown", (event) => {
    const line = event.target.closest("li");
    if (!line) return;
    event.preventDefault();
    take([...list.children].indexOf(line));
    field.focus();
  });
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[data-insert]");
    if (!button) return;
    const text = button.dataset.insert;
    const [start, end] = [field.selectionStart, field.selectionEnd];
    const apart = start && !/[\s(,']$/.test(field.value.slice(0, start)) ? " " : "";
    field.setRangeText(apart + text.replaceAll("…", ""), start, end, "end");
    field.focus();
    tell();
    list.hidden = true;
  });
  sheet.classList.add("painted");
  field.setSelectionRange(field.value.length, field.value.length);
  paint();
  return {
    paint,
    /** Show where a mistake is: where it starts and where it ends, or nothing. */
    mark(place) {
      wrong = place;
      paint();
    },
  };
}
