"""Forms: what reviewers are asked (one YAML file each), and decisions as answers to them, checked."""

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec.structs import replace

from eyetest.errors import InputError, nearest, short
from eyetest.pages.page import printable
from eyetest.records import Decision, DecisionKind, Item, letter, tag_word
from eyetest.store.handwritten import convert, parse_yaml, read_text

PLAIN = "plain"
KINDS: tuple[DecisionKind, ...] = get_args(DecisionKind)
Editable = Literal["question", "options", "answer", "tags"]
Shown = Literal["replies", "verdicts", "findings"]
LONGEST_ANSWER, LONGEST_TEXT, LONGEST_EDITS, LONGEST_NAME = 4_000, 10_000, 200_000, 60
"""Characters: of an answer to a field, of a reason, comment or answer to the item, of edits, of a person's name."""
EDIT, LABEL = "edit_", "label_"  # before the name of what is edited, and of a field
_EDIT_TITLES = {
    "question": "The question, as it should be",
    "answer": "The right answer, as it should be: letters or a text",
    "tags": "Tags to change, one a line: name=value",
}
_Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]*$", max_length=60)]
_Words = Annotated[str, msgspec.Meta(pattern=r"\S", max_length=300)]


def _twice(values: Sequence[str]) -> str:
    return next((value for value in values if values.count(value) > 1), "")


class FormField(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One question to a reviewer: a single choice, a multiple choice, or free text."""

    name: _Name
    ask: _Words
    kind: Literal["choice", "several", "text"] = "choice"
    values: tuple[_Words, ...] = ()
    required: bool = True  # whether a decision needs it; ``unsure`` does not
    tag: str = ""  # in a revision the answer becomes this tag of the item
    when: tuple[DecisionKind, ...] = ()  # asked with these decisions only; with every one if empty

    def __post_init__(self) -> None:
        if self.kind == "text" and self.values:
            raise ValueError(f"{self.name}: a text has no values; write kind: choice or several")
        if self.kind != "text" and len(self.values) < 2:
            raise ValueError(f"{self.name}: a {self.kind} takes at least two values")
        if self.kind == "several" and self.tag:
            raise ValueError(f"{self.name}: a tag has one value; write kind: choice, or no tag")
        if twice := _twice(self.values):
            raise ValueError(f'{self.name}: the value "{twice}" is there {self.values.count(twice)} times')

    def check(self, answer: Any) -> Any:
        """An answer as stored: several in the order of the values, None for an empty one."""
        words = answer if self.kind == "several" and isinstance(answer, list | tuple) else [answer]
        if odd := [word for word in words if not isinstance(word, str)]:
            expected = {"choice": "one of its values", "several": "a list of its values", "text": "a text"}[self.kind]
            raise InputError(f"{self.name}: found {short(odd[0])}, expected {expected}")
        if self.kind == "text":
            return short_enough(self.name, answer, LONGEST_ANSWER).strip() or None
        chosen = {word if self.kind == "several" else word.strip() for word in words} - {""}
        for word in chosen - {*self.values}:
            raise InputError(f'{self.name}: no value "{short(word)[1:-1]}"; {nearest(word, self.values)}')
        kept = [value for value in self.values if value in chosen]
        return (kept if self.kind == "several" else kept[0]) if kept else None


class Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a reviewer is asked about an item, what a fix may change, and what is shown besides the item."""

    name: str = PLAIN
    about: str = ""
    fields: tuple[FormField, ...] = ()
    reasons: tuple[_Words, ...] = ()  # offered where an item is dropped; a reviewer may write another
    edits: tuple[Editable, ...] = get_args(Editable)
    solve: bool = False  # whether the reviewer answers the item before its gold is shown
    shows: tuple[Shown, ...] = get_args(Shown)

    def __post_init__(self) -> None:
        names, tags = [field.name for field in self.fields], [field.tag for field in self.fields if field.tag]
        for values, words in ((names, "are called"), (tags, "give the tag")):
            if twice := _twice(values):
                raise ValueError(f'{values.count(twice)} fields {words} "{twice}"')

    def tags(self, labels: Mapping[str, Any]) -> dict[str, Any]:
        """The tags that some answers become."""
        return {field.tag: labels[field.name] for field in self.fields if field.tag and field.name in labels}

    def asked(self, decision: str) -> tuple[FormField, ...]:
        """The fields that belong to a decision."""
        return tuple(field for field in self.fields if decision in (field.when or KINDS))


def form_names() -> list[str]:
    """The built-in forms."""
    files = resources.files("eyetest.studio.forms").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_form(text: str = PLAIN) -> Form:
    """A built-in form by name, a form in a YAML file, or plain text, which becomes the text of the plain form."""
    words = text.strip() or PLAIN
    names = form_names()
    if words not in names and not words.endswith((".yaml", ".yml")):
        if len(words.split()) == 1 and (hint := nearest(words, names)).startswith("did you mean"):
            raise InputError(f'no form "{words}"; {hint}')
        return replace(load_form(), about=words)
    own = resources.files("eyetest.studio.forms") / f"{words}.yaml"
    content = parse_yaml(own.read_text("utf-8") if words in names else read_text(Path(words)), words)
    if not isinstance(content, dict):
        raise InputError(f"{words}: a form is a list of settings with their names: about, fields, reasons …")
    return convert({"name": Path(words).stem, **content}, Form, words)


class Question(NamedTuple):
    """One question: its name, its text, the allowed answers, and the decisions with which it is asked."""

    name: str
    words: str
    kind: Literal["choice", "several", "text"]
    values: tuple[str, ...] = ()
    when: tuple[str, ...] = ()
    required: bool = False


def questions(form: Form, options: int) -> list[Question]:
    """The questions about an item with so many options, in order."""
    rows = [Question("solved", "What is the answer? Write it before you decide", "text")] if form.solve else []
    rows.append(Question("decision", "What is to happen with this item?", "choice", KINDS, required=True))
    if form.reasons:
        rows.append(Question("reason", "Why drop it?", "choice", form.reasons, ("drop",)))
    rows.append(Question("reason_text", "Another reason", "text", when=("drop",)))
    for name in form.edits:
        titles: dict[str, str] = {name: _EDIT_TITLES.get(name, "")}
        if name == "options":
            titles = {mark.lower(): f"Option {mark}, as it should be" for mark in map(letter, range(options))}
        rows += [Question(EDIT + key, words, "text", (), ("fix",)) for key, words in titles.items()]
    for field in form.fields:
        rows.append(Question(LABEL + field.name, field.ask, field.kind, field.values, field.when, field.required))
    return [*rows, Question("comment", "Anything else?", "text")]


def present(item: Item) -> dict[str, str]:
    """The present values of editable fields, by name: an equal answer changes nothing."""
    texts = {EDIT + letter(index).lower(): choice.text for index, choice in enumerate(item.choices)}
    golds = ", ".join(map(letter, item.gold)) if item.choices else "\n".join(item.references)
    return {"edit_question": item.question, **texts, "edit_answer": golds}


def read_answers(answers: Mapping[str, str | Sequence[str]], item: Item, form: Form) -> Decision:
    """The decision that answers express, without author and time; refused where invalid, naming the field."""
    known = {question.name: question for question in questions(form, len(item.choices))}
    given: dict[str, Any] = {}
    unchanged = {name: printable(text).strip() for name, text in present(item).items()}
    for name, value in answers.items():
        several = not isinstance(value, str) and len(value) > 1
        answer = sorted(value) if several else "".join(value).strip()
        if not answer or (isinstance(answer, str) and printable(answer) == unchanged.get(name)):
            continue
        if name not in known:
            raise InputError(f"{short(name)} is not asked here; {nearest(name, known)}")
        if several and known[name].kind != "several":
            raise InputError(f"{name}: found {len(value)} answers, expected one")
        if name in ("decision", "reason") and answer not in known[name].values:
            raise InputError(f"{name}: found {short(answer)}; {nearest(str(answer), known[name].values)}")
        given[name] = answer
    if "decision" not in given:
        raise InputError("decision: nothing is decided")
    kind: DecisionKind = given["decision"]
    asked = {LABEL + field.name for field in form.asked(kind)}
    edits = {name.removeprefix(EDIT): text for name, text in given.items() if name.startswith(EDIT)}
    changes = {k.upper() if len(k) == 1 else k: _read_edit(k, text, item) for k, text in edits.items()}
    return Decision(
        item=item.id,
        reviewer="",
        time="",
        decision=kind,
        comment=given.get("comment", ""),
        reason=": ".join(given[name] for name in ("reason", "reason_text") if name in given),
        solved=given.get("solved", ""),
        labels={name.removeprefix(LABEL): value for name, value in given.items() if name in asked},
        edits={name: value for name, value in changes.items() if value != {}},
    )


def as_answers(decision: Decision, form: Form) -> dict[str, list[str]]:
    """A decision as answers: the inverse of `read_answers`."""
    reason = "reason" if decision.reason in form.reasons else "reason_text"
    answers: dict[str, Any] = {"decision": decision.decision, reason: decision.reason, "comment": decision.comment}
    answers |= {LABEL + name: answer for name, answer in decision.labels.items()}
    for key, value in decision.edits.items():
        tags = [f"{tag}={'' if word is None else word}" for tag, word in value.items()] if key == "tags" else []
        answers[EDIT + key.lower()] = "\n".join(tags) if key == "tags" else value
    return {name: [*map(str, value)] if isinstance(value, list) else [str(value)] for name, value in answers.items()}


def _read_edit(name: str, text: str, item: Item) -> str | list[str] | dict[str, str]:
    """An edit as stored: tags that differ; the answer as a list where it has several letters or lines."""
    if name == "tags":
        pairs = [line.partition("=") for line in text.splitlines() if line.strip()]
        if not all(equals and tag.strip() for tag, equals, _ in pairs):
            raise InputError(f"edit_tags: found {short(text)}, expected lines like name=value")
        changed = {tag.strip(): value.strip() for tag, _, value in pairs}
        return {tag: value for tag, value in changed.items() if value != (tag_word(item.tags.get(tag)) or "").strip()}
    if name != "answer":
        return text
    kept = [word.strip() for word in text.split("," if item.choices else "\n") if word.strip()]
    return kept[0] if len(kept) == 1 else kept


def check_labels(form: Form, decision: str, labels: Mapping[str, Any]) -> dict[str, Any]:
    """The answers to a form's fields as stored; refused where one is wrong, missing or not asked for."""
    fields = {field.name: field for field in form.asked(decision)}
    kept: dict[str, Any] = {}
    for name, answer in labels.items():
        if name not in fields:
            asked = nearest(name, fields) if fields else "the form asks nothing"
            raise InputError(f'no field "{short(name)[1:-1]}" with {decision}; {asked}')
        if answer is not None and (value := fields[name].check(answer)) is not None:
            kept[name] = value
    for name, field in fields.items():
        if field.required and name not in kept and decision != "unsure":
            raise InputError(f"{name}: {field.ask} This has to be answered")
    return {name: kept[name] for name in fields if name in kept}


def check_decision(decision: Decision, form: Form, item: Item) -> Decision:
    """A decision as stored, with its labels in order; refused where the form or the item does not allow it."""
    for name in ("reason", "comment", "solved"):
        short_enough(name, getattr(decision, name))
    if decision.edits and decision.decision != "fix":
        raise InputError(f"edits: only a fix changes an item, and this is {decision.decision}")
    short_enough("edits", str(decision.edits), LONGEST_EDITS)
    for key in decision.edits:
        if ("options" if len(key) == 1 else key) not in form.edits:
            problem = f"only {', '.join(form.edits)} may be changed" if form.edits else "nothing may be changed"
            raise InputError(f"{short(key)}: {problem} here")
    edited(item, decision.edits)
    return replace(decision, labels=check_labels(form, decision.decision, decision.labels))


def short_enough(name: str, text: str, most: int = LONGEST_TEXT) -> str:
    """A text within the length limit."""
    if len(text) > most:
        raise InputError(f"{name}: {len(text):,} characters; at most {most:,} are kept")
    return text


def edited(item: Item, edits: Mapping[str, Any]) -> Item:
    """An item with a reviewer's edits: question, answer, tags (an empty one goes), an option's text by its letter."""
    changes: dict[str, Any] = {}
    choices, letters = list(item.choices), [*map(letter, range(len(item.choices)))]
    for key, value in edits.items():
        if key == "question" and str(value).strip():
            changes["question"] = str(value)
        elif key == "answer" and choices:
            golds = [
                str(word).strip().upper() for word in (value if isinstance(value, list) else str(value).split(","))
            ]
            if unknown := [name for name in golds or [""] if name not in letters]:
                problem = f"an answer is one of {', '.join(letters)}, not {short(unknown[0])}"
                raise InputError(f"item {short(item.id)}: {problem}")
            choices = [replace(one, correct=mark in golds) for mark, one in zip(letters, choices, strict=True)]
        elif key == "answer" and value not in ("", []):
            changes["references"] = tuple(map(str, value)) if isinstance(value, list) else (str(value),)
        elif key == "tags" and isinstance(value, Mapping):
            for name, word in value.items():
                if isinstance(word, Mapping | list) or not str(name).strip():
                    raise InputError(f"item {short(item.id)}: a tag is a word or a number, not {short(word)}")
            tags = {**item.tags, **value}
            changes["tags"] = {tag: word for tag, word in tags.items() if word is not None and tag_word(word) != ""}
        elif key.upper() in letters:
            index = letters.index(key.upper())
            choices[index] = replace(choices[index], text=str(value))
        else:
            problem = "an edit may change question, answer, tags or an option, and not to nothing"
            raise InputError(f"item {short(item.id)}: {problem}; found {short(key)}")
    return replace(item, choices=tuple(choices), **changes)


def checked_name(name: str, field: str = "name") -> str:
    """A name without outer spaces that fits in one line of a page."""
    word = name.strip()
    if not word or len(word) > LONGEST_NAME or not word.isprintable():
        expected = f"expected at most {LONGEST_NAME} characters that can be printed"
        raise InputError(f"{field}: found {short(name)}, {expected}")
    return word
