"use strict";
// Reviewing: keys for decisions, and drafts. Everything works without it.
const deciding = byId("decide");
const solving = byId("solve");

// What is typed is kept in the tab until the server has taken it.
const DRAFT = "draft ";
const draftKey = deciding && DRAFT + deciding.dataset.draft;
const WORDS = "textarea, select, input:not([type=hidden]), [name=nonce]";

function keepDraft() {
  const typed = all(WORDS, deciding).map((one) => [one.name, one.value, one.checked ?? null]);
  memory.write(draftKey, { typed });
  markDraft("Draft kept");
}

function markDraft(words) {
  const now = new Date().toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  byId("draft-mark").textContent = memory.read(draftKey) ? `✓ ${words} ${now}` : "This browser keeps no drafts";
}

function restoreDraft() {
  const draft = memory.read(draftKey);
  if (!draft) return;
  const boxes = new Map(draft.typed.filter((one) => one[2] !== null).map(([name, value, on]) => [`${name}\n${value}`, on]));
  const texts = new Map(draft.typed.map(([name, value]) => [name, value]));
  for (const one of all(WORDS, deciding)) {
    if (one.matches("[type=radio], [type=checkbox]")) one.checked = boxes.get(`${one.name}\n${one.value}`) ?? one.checked;
    else if (one.name !== "nonce" || !("decided" in deciding.dataset)) one.value = texts.get(one.name) ?? one.value;
  }
  markDraft("Draft restored");
}

// The page after a decision says which form was taken; only then its draft goes.
const sent = memory.read("sent");
const taken = new URLSearchParams(location.search).get("taken");
if (taken && sent?.nonce === taken) {
  try { sessionStorage.removeItem(sent.draft); sessionStorage.removeItem("sent"); } catch { /* nothing was kept */ }
}
addEventListener("pageshow", (event) => event.persisted && location.reload());
if (deciding) {
  if (!("kept" in deciding.dataset)) restoreDraft();
  for (const kind of ["input", "change"]) deciding.addEventListener(kind, keepDraft);
  deciding.addEventListener("submit", (event) => {
    const problem = whatIsOpen();
    if (problem) {
      event.preventDefault();
      tell(problem);
      return;
    }
    keepDraft();
    memory.write("sent", { draft: draftKey, nonce: deciding.elements.nonce.value });
  });
}

function tell(problem) {
  let line = document.querySelector(".problem");
  if (!line) {
    line = Object.assign(document.createElement("p"), { className: "problem" });
    line.setAttribute("role", "alert");
    document.querySelector(".decide").prepend(line);
  }
  line.textContent = problem;
}

const whatIsOpen = () => (deciding.elements.decision.value ? "" : "Choose a decision: keep, drop, fix or unsure.");

// Digits answer the first question that is open; of several values, more of the one that is focused.
const isShown = (one) => one.offsetParent !== null;
const boxesOf = (field) => all(".values input, select", field);
const isAnswered = (box) => (box.matches("select") ? box.value !== "" : box.checked);

function openField() {
  const fields = all(".field", deciding || solving).filter((field) => isShown(field) && boxesOf(field).length);
  const focused = fields.find((field) => field.contains(document.activeElement));
  if (focused && boxesOf(focused)[0].type === "checkbox") return focused;
  return fields.find((field) => !boxesOf(field).some(isAnswered)) || focused || fields[0];
}

function tick(box) {
  if (!box) return false;
  if (!box.matches("select")) box.click();
  box.focus();
  return true;
}

for (let digit = 1; digit <= 9; digit += 1) KEYS[digit] = () => {
  const boxes = boxesOf(openField() || document.createElement("div"));
  return tick(boxes[0]?.matches("select") ? boxes[0] : boxes[digit - 1]); // in a list, letters choose
};
for (const box of all("[data-key]")) KEYS[box.dataset.key] = () => tick(box);
if (deciding) {
  KEYS.c = () => (byId("comment").focus(), true);
  KEYS.x = () => false;
}
if (!deciding && !solving) {
  KEYS.n = () => press("#next") || press('[rel="next"]');
  KEYS.h = () => press(".top h1 a");
}
KEYS.Enter = () => {
  if (document.activeElement.matches("a, button, summary")) return false;
  (deciding || solving)?.requestSubmit();
  return Boolean(deciding || solving);
};

document.addEventListener("keydown", (event) => {
  const form = deciding || solving;
  if (!form || document.querySelector("dialog[open]")) return;
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  // app.js leaves keys on radio buttons alone, which here are what is under the fingers most of the time.
  if (event.ctrlKey || event.metaKey || event.altKey || !event.target.matches("[type=radio]")) return;
  if (event.key.startsWith("Arrow") || event.key === "Escape" || !KEYS[event.key]) return;
  if (KEYS[event.key]() !== false) event.preventDefault();
});
