// Sorting and filtering of tables, and the views of a leaderboard. A page is complete without it.
"use strict";
{
const number = (cell) => {
  const text = cell.dataset.v ?? cell.textContent.trim();
  const value = parseFloat(text.replaceAll(",", "").replace("−", "-"));
  return text === "" || text === "–" ? null : Number.isNaN(value) ? text.toLowerCase() : value;
};
const compare = (a, b, down) => {
  if (a === null || b === null) return (a === null) - (b === null);
  const order = typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1;
  return down ? -order : order;
};
const SHOWN = 30; // rows of a leaderboard that are laid out at once; more when they are scrolled to
const limit = (table, most = SHOWN) => {
  let left = most;
  for (const row of table.tBodies[0].rows) row.classList.toggle("late", !row.hidden && left-- <= 0);
  return left < 0;
};
const sort = (table, column, down) => {
  const rows = [...table.tBodies[0].rows].map((row) => [number(row.cells[column]), row]);
  rows.sort((a, b) => compare(a[0], b[0], down));
  table.tBodies[0].append(...rows.map(([, row]) => row));
  for (const head of table.tHead.rows[0].cells) head.removeAttribute("aria-sort");
  table.tHead.rows[0].cells[column].setAttribute("aria-sort", down ? "descending" : "ascending");
  if (table.id === "board") limit(table);
};
for (const table of document.querySelectorAll("table.sheet, table.board, table.rows")) {
  if (!table.tHead || !table.tBodies[0] || table.tBodies[0].rows.length < 2) continue;
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("span"); // a button element would wrap words differently and move the page
    button.setAttribute("role", "button");
    button.tabIndex = 0;
    button.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { event.preventDefault(); button.click(); }
    });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const words = head.classList.contains("right") ? "descending" : "ascending";
      sort(table, column, now ? now === "ascending" : words === "descending");
    });
  });
}
const source = document.getElementById("board-data");
if (source) {
  const data = JSON.parse(source.textContent);
  const table = document.getElementById("board");
  const lines = [...table.tBodies[0].rows];
  const first = table.tHead.rows[0].querySelector("[data-column]").cellIndex;
  const link = (line, column) => {
    const name = data.columns[column], asked = data.links.asked?.[name];
    if (asked === undefined) return null;
    const about = data.links.several ? `benchmark=${encodeURIComponent(name)}&` : "";
    return `${data.links.before}${about}answer=${encodeURIComponent(`scored:${data.models[line]}@${asked}`)}`;
  };
  const fill = (cell, found, line, column) => { // all texts are written where the page is written
    cell.replaceChildren();
    cell.classList.toggle("best", found && found[3] === 1);
    cell.dataset.v = found ? found[0] : "";
    cell.style.setProperty("--v", found ? Math.max(0, found[0]) : 0);
    if (cell.classList.contains("scored")) ["--l", "--h"].forEach((name, i) => cell.style.setProperty(name, found ? found[1 + i] : 0));
    if (!found) return cell.append("–");
    const value = document.createElement("a"), about = document.createElement("i"), rank = document.createElement("s");
    [value.textContent, about.textContent, rank.textContent] = found.slice(4);
    const href = link(line, column);
    if (href) value.href = href;
    cell.append(value, " ", about, " ", rank);
  };
  const place = (row, found) => { row.cells[0].textContent = found && found[3] !== null ? found[3] : "–"; };
  const show = (view) => lines.forEach((row, line) => {
    data.cells[view][line].forEach((found, column) => fill(row.cells[first + column], found, line, column));
    place(row, data.cells[view][line][0]);
  });
  lines.forEach((row, line) => data.columns.forEach((_, column) => {
    const href = link(line, column), value = row.cells[first + column].querySelector("a");
    if (href && value) value.href = href;
  }));
  for (const radio of document.querySelectorAll("[name=view]")) radio.addEventListener("change", () => {
    show(radio.value);
    sort(table, first, true);
  });
  const box = table.parentElement;
  const more = () => {
    if (!table.tBodies[0].querySelector("tr.late") || table.getBoundingClientRect().bottom > 2 * Math.max(innerHeight, box.getBoundingClientRect().bottom)) return;
    limit(table, table.tBodies[0].querySelectorAll("tr:not(.late, [hidden])").length + SHOWN);
  };
  for (const scrolled of [box, document]) scrolled.addEventListener("scroll", more, { passive: true });
  const intervals = document.getElementById("intervals");
  intervals?.addEventListener("change", () => table.classList.toggle("bare", !intervals.checked));
  const save = (name, type, text) => {
    const anchor = document.createElement("a");
    anchor.href = URL.createObjectURL(new Blob([text], { type }));
    anchor.download = name;
    anchor.click();
    setTimeout(() => URL.revokeObjectURL(anchor.href), 1000);
  };
  const rows = () => data.models.flatMap((model, line) => data.columns.map((benchmark, column) => {
    const row = { model, benchmark };
    for (const [view, cells] of Object.entries(data.cells))
      ["", "_low", "_high", "_rank"].forEach((end, i) => { row[view + end] = cells[line][column] ? cells[line][column][i] : null; });
    return { ...row, ...(column ? {} : { unread: data.unread[line], ...(data.spending ? { [data.spending]: data.spent[line] } : {}) }), ...data.facts[line] };
  }));
  const inert = (text) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
  const quoted = (value) => (typeof value === "string" ? `"${inert(value).replaceAll('"', '""')}"` : value ?? "");
  document.getElementById("save-json")?.addEventListener("click", () => save("leaderboard.json", "application/json", JSON.stringify(rows())));
  document.getElementById("save-csv")?.addEventListener("click", () => {
    const all = rows(), names = [...new Set(all.flatMap((row) => Object.keys(row)))];
    save("leaderboard.csv", "text/csv", [names.map(quoted), ...all.map((row) => names.map((name) => quoted(row[name])))].join("\n"));
  });
}
const filters = document.querySelectorAll("[data-filters]");
for (const input of filters) {
  const bar = input.closest(".controls");
  const table = document.getElementById(input.dataset.filters) ?? bar.nextElementSibling.querySelector("table");
  const all = bar.querySelectorAll("[data-filters]");
  const apply = () => {
    const tests = [...all].map((one) => [one.value.toLowerCase(), one.dataset.exact !== undefined]).filter(([word]) => word);
      const rows = [...table.tBodies[0].rows];
    for (const row of rows) {
      const facts = (row.dataset.facts ?? "").toLowerCase().split("\u001f");
      const text = `${row.cells[1]?.textContent ?? ""} ${table.id === "board" ? "" : row.textContent} ${facts.join(" ")}`.toLowerCase();
      row.hidden = !tests.every(([word, exact]) => (exact ? facts.includes(word) : text.includes(word)));
    }
    if (table.id === "board") limit(table);
    const left = rows.filter((row) => !row.hidden).length;
    bar.querySelector("[data-counts]").textContent = left === rows.length ? "" : `${left} of ${rows.length}`;
  };
  input.addEventListener(input.tagName === "SELECT" ? "change" : "input", apply);
}
}
