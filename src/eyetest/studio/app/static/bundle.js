"use strict";
// Filters a bundle's items in the browser, as the server's collection does, and fills the page that app.js acts on.
const { ids, texts, words, judged, together, numbers, series, clusters } = bundle;
const BIT = Object.fromEntries(bundle.kinds.map((kind, number) => [kind, 1 << number]));
const total = ids.length;
const ASKED = 1 << bundle.kinds.length;
const JUDGED = ["verdict", "stage"];
const everything = ids.map((_, position) => position);

const grouped = (parts, key) => parts.filter((part) => part[0] === key).map((part) => part[1]);

// `LEAST..MOST`, both included; `LEAST<..` and `..<MOST` leave the end itself out.
function within(text) {
  const [low, high] = text.includes("..") ? text.split("..") : [text, text];
  const [least, most] = [low.replace("<", "").trim(), high.replace("<", "").trim()];
  const above = (value) => !least || (low.includes("<") ? value > Number(least) : value >= Number(least));
  const below = (value) => !most || (high.includes("<") ? value < Number(most) : value <= Number(most));
  return (value) => value !== null && above(value) && below(value);
}

// Series of `kind:MODEL@CONDITION`: any model if none is named, all words of the condition.
function answeredSo(text) {
  const [, kind, rest] = /^([^:]*):?(.*)$/s.exec(text);
  const at = rest.lastIndexOf("@");
  const [model, condition] = at < 0 ? [rest, ""] : [rest.slice(0, at), rest.slice(at + 1)];
  const wanted = condition.split(/\s+/).filter(Boolean);
  const some = series.filter((one) => (!model || one.model === model) && wanted.every((word) => one.words.includes(word)));
  const bits = BIT[kind] || (kind === "asked" ? ASKED : BIT.right | BIT.wrong);
  const is = (position) => some.some((one) => one.kinds[position] & bits);
  return kind === "unscored" ? (position) => !is(position) : is;
}

function judgedBy(verdict, stage) {
  const wanted = together[verdict] || [verdict];
  return (position) => {
    const rows = stage ? judged[position].filter((row) => row[0] === stage) : judged[position].slice(-1);
    return rows.some((row) => !verdict || wanted.includes(row[1]));
  };
}

function hasWords(text) {
  const wanted = [...text.toLowerCase().matchAll(/"([^"]+)"|(\S+)/g)].map((match) => match[1] || match[2]);
  return (position) => wanted.every((word) => texts[position].includes(word));
}

function tests(parts) {
  const list = [];
  for (const key of new Set(parts.map((part) => part[0]))) {
    const values = grouped(parts, key);
    if (words[key]) {
      const codes = new Set(values.map((value) => words[key].values.indexOf(value)).filter((code) => code >= 0));
      list.push((position) => [words[key].codes[position]].flat().some((code) => codes.has(code)));
    } else if (numbers[key]) {
      const inside = values.map(within);
      list.push((position) => inside.some((test) => test(numbers[key][position])));
    } else if (key === "text") list.push(hasWords(values[0]));
    else if (key === "id") { const wanted = new Set(values); list.push((position) => wanted.has(ids[position])); }
    else if (key === "answer" && series.length) list.push(...values.map(answeredSo));
    else if (JUDGED.includes(key) && judged) list.push(judgedBy(...JUDGED.map((name) => grouped(parts, name)[0])));
    else if (!["sort", "page", "item", "compare"].includes(key)) throw new Error(`this copy cannot filter by ${key}`);
  }
  return list;
}

function matching(parts) {
  const list = tests(parts);
  return everything.filter((position) => list.every((test) => test(position)));
}

function sorted(positions, by) {
  if (!by) return positions;
  const [column, turn] = by.startsWith("-") ? [by.slice(1), -1] : [by, 1];
  const value = numbers[column] ? (at) => numbers[column][at]
    : words[column] ? (at) => { const code = words[column].codes[at]; return code < 0 ? null : words[column].values[code]; }
    : column === "question" ? (at) => texts[at] : (at) => ids[at];
  const compare = (one, other) => (one === other ? 0 : one === null ? 1 : other === null ? -1 : turn * (one < other ? -1 : 1));
  return [...positions].sort((one, other) => compare(value(one), value(other)));
}

// The interval of a mean over clusters: see eyetest.measures.stats.intervals. Student's quantile is smooth in one over the
// degrees of freedom, which need not be whole: four points of a fine table give it to all digits that are shown.
function quantile(freedom) {
  const { quantiles: table, step } = bundle;
  const at = 1 / freedom / step;
  const first = Math.max(0, Math.min(Math.floor(at) - 1, table.length - 4));
  let sum = 0;
  for (let i = first; i < first + 4; i += 1) {
    let weight = 1;
    for (let j = first; j < first + 4; j += 1) if (j !== i) weight *= (at - j) / (i - j);
    sum += weight * Math.log(table[i]);
  }
  return Math.exp(sum);
}

function wilson(p, n, z) {
  const centre = (p + z ** 2 / (2 * n)) / (1 + z ** 2 / n);
  const half = (z / (1 + z ** 2 / n)) * Math.sqrt((p * (1 - p)) / n + z ** 2 / (4 * n ** 2));
  return [Math.max(centre - half, 0), Math.min(centre + half, 1)];
}

function accuracy(one, positions) {
  const sums = new Map();
  let [sum, n, binary] = [0, 0, true];
  for (const at of positions) {
    const score = one.scores[at];
    if (score === null) continue;
    const row = sums.get(clusters[at]) || [0, 0];
    sums.set(clusters[at], [row[0] + score, row[1] + 1]);
    sum += score;
    n += 1;
    binary &&= !one.graded.has(at);
  }
  if (!n) return null;
  const [p, groups] = [sum / n, sums.size];
  let [squares, moved, odds, squared, fourth] = [0, 0, 0, 0, 0];
  for (const [s, m] of sums.values()) {
    const odd = m / (n - m);
    squares += s * s;
    moved += ((s - p * m) / (n - m)) ** 2;
    [odds, squared, fourth] = [odds + odd, squared + odd ** 2, fourth + odd ** 4];
  }
  const independent = groups === n && squares === sum;
  if (groups < 2 && !(binary && independent)) return { p, n, low: binary ? 0 : NaN, high: binary ? 1 : NaN };
  const variance = (moved * (groups - 1)) / groups;
  const varied = Math.sqrt(variance) > 1e-12 * Math.abs(p);
  const student = groups < 2 ? NaN : quantile(odds ** 2 / (squared + squared ** 2 - fourth));
  if (!binary) {
    const half = varied ? student * Math.sqrt(variance) : NaN;
    return { p, n, low: p - half, high: p + half };
  }
  const worth = independent ? n : varied ? Math.max((p * (1 - p)) / variance, 1e-9) : groups;
  const [low, high] = wilson(p, worth, independent ? bundle.quantiles[0] : student);
  return { p, n, low, high };
}

// Cards and stories lie in files of their own, fetched when they are first shown.
const chunks = new Map();
const waiting = new Map();
window.eyetestChunk = (kind, number, pieces) => waiting.get(`${kind}/${number}`)(pieces);

function chunk(kind, number) {
  const name = `${kind}/${number}`;
  if (!chunks.has(name)) {
    chunks.set(name, new Promise((resolve, reject) => {
      waiting.set(name, resolve);
      const script = document.createElement("script");
      script.src = `${name}.js`;
      script.onerror = () => reject(new Error(`${name}.js is missing from this copy`));
      document.head.append(script);
    }));
  }
  return chunks.get(name);
}

const piece = async (kind, size, position) => (await chunk(kind, Math.floor(position / size)))[position % size];
const formatted = (number) => number.toLocaleString("en");
const share = (value) => { // as the server's pages write it: a tie goes to the even digit
  const percent = 100 * value;
  return percent - Math.floor(percent) === 0.25 ? `${Math.floor(percent)}.2` : percent.toFixed(1);
};

function fillFacets(parts) {
  const [shown, most] = [new Map(), new Map()];
  for (const link of all(".value")) {
    const { key, value } = link.dataset;
    const own = JUDGED.includes(key) ? JUDGED : [key];
    if (!shown.has(key)) shown.set(key, matching(parts.filter((part) => !own.includes(part[0]))));
    const beside = parts.filter((part) => own.includes(part[0]) && part[0] !== key);
    const [test] = tests([[key, value], ...beside]);
    const count = shown.get(key).filter(test).length;
    link.querySelector(".count").textContent = formatted(count);
    link.classList.toggle("none", !count);
    link.items = count;
    most.set(key, Math.max(most.get(key) || 1, count));
  }
  for (const link of all(".value")) link.querySelector(".bar").setAttribute("width", (100 * link.items) / most.get(link.dataset.key));
  for (const link of all("#desk [data-key]")) {
    const { key, value } = link.dataset;
    if (parts.some((part) => isSame(part, [key, value]))) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    link.href = writeParts(toggled(parts, key, value));
  }
}

function fillScores(positions) {
  for (const row of all("[data-series]")) {
    const one = series.find((some) => `${some.model}\n${some.condition}` === row.dataset.series);
    const score = accuracy(one, positions);
    row.querySelector(".accuracy").innerHTML = score ? `<b>${share(score.p)}</b>` : "–";
    row.querySelector(".interval-of").textContent = score && score.low === score.low ? `[${share(score.low)}, ${share(score.high)}]` : "";
    row.querySelector(".n").textContent = formatted(score ? score.n : 0);
    const [interval, dot] = [row.querySelector(".interval"), row.querySelector(".dot")];
    interval?.setAttribute("x", 120 * Math.max(score?.low || 0, 0));
    interval?.setAttribute("width", score ? Math.max(120 * (Math.min(score.high, 1) - Math.max(score.low, 0)), 0) || 0 : 0);
    dot?.setAttribute("cx", 120 * (score?.p || 0));
    dot?.setAttribute("r", score ? 4 : 0);
    for (const link of all('[data-key="answer"]', row)) {
      const bit = BIT[link.dataset.value.split(":")[0]];
      link.textContent = formatted(positions.filter((at) => one.kinds[at] & bit).length);
    }
  }
}

// Two models side by side: how many items each answers right, with links to them.
function fillVersus(parts, positions) {
  const names = grouped(parts, "compare").slice(-2);
  const rows = names.length < 2 ? [] : series.filter((one) => one.model === names[0]).flatMap((first) => {
    const second = series.find((one) => one.model === names[1] && one.condition === first.condition);
    return second ? [[first, second]] : [];
  });
  const cell = (tag, text, className) => Object.assign(document.createElement(tag), { textContent: text, className: className || "" });
  const line = (...cells) => { const row = document.createElement("tr"); row.append(...cells); return row; };
  const heads = ["condition", "both right", `only ${names[0]}`, `only ${names[1]}`, "both wrong"];
  const table = document.createElement("table");
  table.append(line(...heads.map((text, at) => cell("th", text, at ? "right" : ""))), ...rows.map(([first, second]) => {
    const cells = [["right", "right"], ["right", "wrong"], ["wrong", "right"], ["wrong", "wrong"]].map(([one, other]) => {
      const added = [["answer", `${one}:${first.model}@${first.condition}`], ["answer", `${other}:${second.model}@${second.condition}`]];
      const count = positions.filter((at) => first.kinds[at] & BIT[one] && second.kinds[at] & BIT[other]).length;
      const kept = parts.filter((part) => !isOwn(part) && !added.some((more) => isSame(part, more)));
      const link = Object.assign(cell("a", formatted(count)), { href: writeParts([...kept, ...added]) });
      const box = cell("td", "", "right");
      box.append(link);
      return box;
    });
    return line(cell("td", first.condition), ...cells);
  }));
  byId("versus").hidden = !rows.length;
  byId("versus").replaceChildren(cell("h2", names.join(" beside ")), table);
}

function fillFilters(parts) {
  const many = grouped(parts, "id").length > bundle.most_ids;
  const each = parts.filter((part) => !["sort", "page", "item", ...(many ? ["id"] : [])].includes(part[0]));
  const filter = (label, left) => Object.assign(document.createElement("a"), { className: "filter", href: writeParts(left), textContent: label });
  byId("filters").replaceChildren(
    ...each.map(([key, value]) => filter(`${key.replace(/^tag\./, "")}: ${value}`, toggled(parts, key, value))),
    ...(many ? [filter(`${formatted(grouped(parts, "id").length)} ids`, parts.filter((part) => part[0] !== "id"))] : []),
  );
  document.querySelector('[name="text"]').value = grouped(parts, "text")[0] || "";
  document.querySelector('[name="sort"]').value = grouped(parts, "sort")[0] || "";
}

function fillPages(parts, number, pages) {
  for (const [rel, page] of [["prev", number - 1], ["next", number + 1]]) {
    const link = document.querySelector(`#pages [rel="${rel}"]`);
    const there = page >= 1 && page <= pages;
    if (there) link.href = writeParts(withOwn(parts, "page", page > 1 ? page : ""));
    else link.removeAttribute("href");
    link.setAttribute("aria-disabled", !there);
  }
  byId("pages").hidden = pages < 2;
  byId("page-of").textContent = `page ${number} of ${pages}`;
}

async function showList(parts, positions) {
  byId("story").replaceChildren();
  byId("story").hidden = true;
  byId("desk").hidden = byId("top").hidden = false;
  document.body.className = "";
  const pages = Math.max(1, Math.ceil(positions.length / bundle.page));
  const number = Math.min(Math.max(Number(grouped(parts, "page")[0]) || 1, 1), pages);
  byId("number").textContent = `${formatted(positions.length)}${positions.length < total ? ` of ${formatted(total)}` : ""} ${total === 1 ? "item" : "items"}`;
  byId("what").textContent = `The ${formatted(positions.length)} items that are shown`;
  fillFilters(parts);
  fillFacets(parts.filter((part) => !isOwn(part)));
  fillScores(positions);
  fillVersus(parts, positions);
  fillPages(parts, number, pages);
  byId("empty").hidden = positions.length > 0;
  const here = positions.slice((number - 1) * bundle.page, number * bundle.page);
  const cards = await Promise.all(here.map((position) => piece("cards", bundle.cards, position)));
  byId("cards").innerHTML = cards.join("");
  all(".card").forEach((card, index) => { card.querySelector(".to").href = writeParts(withOwn(parts, "item", ids[here[index]])); });
  const at = all(".card").find((card) => card.dataset.id === memory.read("at"));
  at?.classList.add("at");
  at?.scrollIntoView({ block: "nearest" });
  showChosen();
}

async function showItem(parts, positions, id) {
  const position = ids.indexOf(id);
  if (position < 0) throw new Error(`no item ${id}`);
  byId("story").innerHTML = await piece("stories", bundle.stories, position);
  byId("story").hidden = false;
  byId("desk").hidden = byId("top").hidden = true;
  document.body.className = "one";
  const at = positions.indexOf(position);
  const story = byId("story");
  story.querySelector("#where").textContent = at < 0 ? "not among the items shown" : `${formatted(at + 1)} of ${formatted(positions.length)}`;
  story.querySelector("#back").href = writeParts(withOwn(withOwn(parts, "item", ""), "page", at < bundle.page ? "" : Math.floor(at / bundle.page) + 1));
  for (const [rel, step_] of [["prev", -1], ["next", 1]]) {
    const other = at < 0 ? undefined : positions[at + step_];
    const link = story.querySelector(`[rel="${rel}"]`);
    link.setAttribute("aria-disabled", other === undefined);
    if (other !== undefined) link.href = writeParts(withOwn(parts, "item", ids[other]));
  }
  openItem();
}

async function route() {
  const parts = readParts();
  try {
    const positions = sorted(matching(parts), grouped(parts, "sort")[0]);
    const [id] = grouped(parts, "item");
    await (id === undefined ? showList(parts, positions) : showItem(parts, positions, id));
  } catch (error) {
    byId("empty").hidden = false;
    byId("empty").textContent = error.message;
  }
  document.body.dataset.ready = location.hash;
}

document.addEventListener("submit", (event) => {
  if (event.target.method === "dialog") return;
  event.preventDefault();
  const field = event.target.querySelector("[name]");
  const kept = readParts().filter((part) => !isOwn(part));
  location.hash = writeParts(withOwn(kept, field.name, field.value.trim()));
});
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="?"]');
  if (link) { event.preventDefault(); location.hash = link.getAttribute("href").slice(1); }
  if (event.target.closest('[data-act="ids"]')) {
    const shown = sorted(matching(readParts()), grouped(readParts(), "sort")[0]);
    const wanted = chosen.size ? [...chosen] : shown.map((position) => ids[position]);
    const file = URL.createObjectURL(new Blob([wanted.map((id) => `${id}\n`).join("")], { type: "text/plain" }));
    Object.assign(document.createElement("a"), { href: file, download: "ids.txt" }).click();
  }
});
for (const one of series) {
  one.kinds = [...one.kinds].map((sign) => sign.charCodeAt(0) - 48);
  one.graded = new Set(one.graded);
}
addEventListener("hashchange", route);
route();
