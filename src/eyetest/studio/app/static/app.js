"use strict";
// Keys, selection and zoom of every page. In a bundle no server answers: bundle.js then filters, and draws here.
const byId = (id) => document.getElementById(id);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const bundle = window.EYETEST_ITEMS || null;

// Addresses: the same words behind ? on a server and behind # in a bundle.
const SEVERAL = ["tag.", "finding", "answer", "id", "compare"];
const readParts = () => [...new URLSearchParams((bundle ? location.hash : location.search).slice(1))].filter((part) => part[1]);
const writeParts = (parts) => (bundle ? "#" : "?") + new URLSearchParams(parts);
const isOwn = (part) => ["item", "page"].includes(part[0]);
const isSame = (one, other) => one[0] === other[0] && one[1] === other[1];

function toggled(parts, key, value) {
  const kept = parts.filter((part) => !isOwn(part));
  if (kept.some((part) => isSame(part, [key, value]))) return kept.filter((part) => !isSame(part, [key, value]));
  const several = SEVERAL.some((start) => key.startsWith(start));
  const pair = kept.filter((part) => part[0] === "compare");
  if (key === "compare" && pair.length > 1) return [...kept.filter((part) => part[0] !== key), pair.at(-1), [key, value]];
  return [...(several ? kept : kept.filter((part) => part[0] !== key)), [key, value]];
}

function withOwn(parts, key, value) {
  const kept = parts.filter((part) => part[0] !== key);
  return value ? [...kept, [key, String(value)]] : kept;
}

// What was selected, kept for as long as the tab is open.
const memory = {
  read(name) { try { return JSON.parse(sessionStorage.getItem(name)); } catch { return null; } },
  write(name, value) { try { sessionStorage.setItem(name, JSON.stringify(value)); } catch { /* private windows keep nothing */ } },
};
const chosen = new Set(memory.read("chosen") || []);

function choose(id, on = !chosen.has(id)) {
  if (on) chosen.add(id); else chosen.delete(id);
  memory.write("chosen", [...chosen]);
  showChosen();
}

function showChosen() {
  for (const card of all(".card")) {
    const on = chosen.has(card.dataset.id);
    card.classList.toggle("chosen", on);
    card.querySelector("input").checked = on;
  }
  const count = chosen.size;
  const label = byId("chosen");
  if (label) {
    label.hidden = !count;
    label.textContent = `${count.toLocaleString("en")} selected`;
    byId("only-chosen").hidden = byId("choose-none").hidden = !count;
    if (count) byId("what").textContent = `The ${count.toLocaleString("en")} items that are selected`;
    const ids = String(new URLSearchParams([...chosen].map((id) => ["id", id])));
    for (const link of all("[data-export]")) {
      link.dataset.shown ??= link.getAttribute("href");
      link.href = count ? `${link.dataset.export}?${ids}` : link.dataset.shown;
    }
    for (const one of all("[data-query]")) {
      const words = one.matches("input") ? "value" : "textContent";
      one.dataset.shown ??= one[words];
      one[words] = count ? ids : one.dataset.shown;
    }
  }
  const here = byId("choose-this");
  if (here) {
    const on = chosen.has(document.querySelector(".whole")?.dataset.id);
    here.setAttribute("aria-pressed", on);
    here.textContent = on ? "Selected" : "Select";
  }
}

// Moving among cards.
function pointAt(card) {
  if (!card) return;
  for (const other of all(".card.at")) other.classList.remove("at");
  card.classList.add("at");
  card.scrollIntoView({ block: "nearest" });
  card.querySelector(".to").focus({ preventScroll: true });
  memory.write("at", card.dataset.id);
}

function step(by) {
  const cards = all(".card");
  const now = cards.findIndex((card) => card.classList.contains("at"));
  const next = now < 0 ? 0 : now + by;
  if (next >= cards.length && byId("pages")) return press('[rel="next"]');
  pointAt(cards[Math.max(0, next)]);
}

function columns() {
  const cards = all(".card");
  const first = cards[0]?.offsetTop;
  const next = cards.findIndex((card) => card.offsetTop !== first);
  return next < 0 ? cards.length || 1 : next;
}

function press(selector) {
  const link = all(selector).find((one) => one.offsetParent && one.getAttribute("aria-disabled") !== "true");
  link?.click();
  return Boolean(link);
}

const isOpen = () => Boolean(document.querySelector(".whole"));
const KEYS = {
  j: () => (isOpen() ? press('[rel="next"]') : step(1)),
  k: () => (isOpen() ? press('[rel="prev"]') : step(-1)),
  ArrowRight: () => KEYS.j(),
  ArrowLeft: () => KEYS.k(),
  ArrowDown: () => (isOpen() ? false : step(columns())),
  ArrowUp: () => (isOpen() ? false : step(-columns())),
  n: () => !isOpen() && press('[rel="next"]'),
  p: () => !isOpen() && press('[rel="prev"]'),
  x: () => {
    const id = (document.querySelector(".whole") || document.querySelector(".card.at"))?.dataset.id;
    if (id !== undefined) choose(id);
  },
  "/": () => all('[type="search"]').find((one) => one.offsetParent)?.focus(),
  "?": () => byId("help").showModal(),
  "+": () => view?.zoom(1.4),
  "=": () => view?.zoom(1.4),
  "-": () => view?.zoom(1 / 1.4),
  0: () => view?.reset(),
  Enter: () => document.activeElement === document.body && press(".card.at .to"),
  Escape: () => press("#back"),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.target.matches('input:not([type="checkbox"]), select, textarea')) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.target.closest("blockquote, .scroll, .facets") && event.key.startsWith("Arrow")) return;
  const act = KEYS[event.key];
  if (act && act() !== false) event.preventDefault();
});

// An image that can be brought near and moved.
let view = null;

class ImageView {
  constructor(stage) {
    this.stage = stage;
    this.image = stage.querySelector("img");
    this.fingers = new Map();
    this.image.addEventListener("load", () => this.reset());
    new ResizeObserver(() => this.fit()).observe(stage);
    stage.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoom(Math.exp(-event.deltaY / 400), event);
    }, { passive: false });
    stage.addEventListener("pointerdown", (event) => {
      stage.setPointerCapture(event.pointerId);
      this.fingers.set(event.pointerId, event);
    });
    stage.addEventListener("pointermove", (event) => this.drag(event));
    for (const kind of ["pointerup", "pointercancel"]) stage.addEventListener(kind, (event) => this.fingers.delete(event.pointerId));
    stage.addEventListener("dblclick", (event) => (this.scale > 1 ? this.reset() : this.zoom(2.5, event)));
    this.reset();
  }

  fit() {
    const { naturalWidth: width, naturalHeight: height } = this.image;
    if (!width) return;
    const share = Math.min(this.stage.clientWidth / width, this.stage.clientHeight / height, 6);
    Object.assign(this.image.style, { width: `${width * share}px`, height: `${height * share}px`, maxWidth: "none", maxHeight: "none" });
    this.image.style.imageRendering = this.scale * share > 3 ? "pixelated" : "auto";
    this.image.style.transform = `translate(${this.x}px, ${this.y}px) scale(${this.scale})`;
  }

  reset() {
    [this.scale, this.x, this.y] = [1, 0, 0];
    this.fit();
  }

  zoom(by, around = null) {
    const box = this.stage.getBoundingClientRect();
    const [x, y] = around ? [around.clientX - box.x - box.width / 2, around.clientY - box.y - box.height / 2] : [0, 0];
    const scale = Math.min(Math.max(this.scale * by, 1), 40);
    this.x = scale === 1 ? 0 : x - ((x - this.x) * scale) / this.scale;
    this.y = scale === 1 ? 0 : y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.fit();
  }

  drag(event) {
    const before = this.fingers.get(event.pointerId);
    if (!before) return;
    const other = [...this.fingers.values()].find((one) => one.pointerId !== event.pointerId);
    this.fingers.set(event.pointerId, event);
    if (other) {
      const far = (one) => Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
      this.zoom(far(event) / Math.max(far(before), 1), event);
      return;
    }
    this.x += event.clientX - before.clientX;
    this.y += event.clientY - before.clientY;
    this.fit();
  }
}

function openItem() {
  const stage = document.querySelector(".stage");
  view = stage && new ImageView(stage);
  const id = document.querySelector(".whole")?.dataset.id;
  if (id !== undefined) memory.write("at", id);
  const pair = readParts().filter((part) => part[0] === "compare").slice(-2).map((part) => part[1]);
  if (bundle && pair.length === 2 && document.querySelector(".replies table")) {
    const rows = new Map(all(".replies [data-model]").map((row) => [row.dataset.model, row]));
    document.querySelector(".replies table").className = "versus";
    document.querySelector(".replies tbody").replaceChildren(...pair.map((name) => rows.get(name)).filter(Boolean));
  }
  for (const mark of all("blockquote mark")) mark.parentElement.scrollTop = mark.offsetTop - 60;
  showChosen();
}

document.addEventListener("click", (event) => {
  const reel = event.target.closest(".reel button");
  if (reel && view) {
    view.image.src = reel.dataset.whole;
    view.image.alt = reel.getAttribute("aria-label");
    for (const one of all(".reel button")) one.setAttribute("aria-pressed", one === reel);
  }
  for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  const act = {
    help: () => byId("help").showModal(),
    "zoom-in": () => view?.zoom(1.4),
    "zoom-out": () => view?.zoom(1 / 1.4),
    "zoom-fit": () => view?.reset(),
    "choose-none": () => { chosen.clear(); memory.write("chosen", []); location.reload(); },
    "only-chosen": () => { location.href = writeParts([...chosen].map((id) => ["id", id])); },
    "choose-this": () => choose(document.querySelector(".whole").dataset.id),
  }[event.target.closest("[data-act]")?.dataset.act];
  act?.();
});

document.addEventListener("change", (event) => {
  if (event.target.matches(".pick input")) choose(event.target.closest(".card").dataset.id, event.target.checked);
  if (event.target.matches("#sorting select")) event.target.form.requestSubmit();
});

if (matchMedia("(max-width: 48rem)").matches) for (const part of all(".facets, .models")) part.open = false;
if (isOpen()) openItem();
else if (!bundle) {
  const at = memory.read("at");
  all(".card").find((card) => card.dataset.id === at)?.classList.add("at");
  document.querySelector(".card.at")?.scrollIntoView({ block: "nearest" });
}
showChosen();
