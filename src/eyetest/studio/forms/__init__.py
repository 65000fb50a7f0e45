"""Forms: what reviewers are asked besides their decision (one YAML file each), and checks of their answers."""

from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec

from eyetest.errors import InputError, nearest, short
from eyetest.records import Decision, Item, letter, tag_word
from eyetest.store.handwritten import convert, parse_yaml, read_text

PLAIN = "plain"
Answerable = Literal["keep", "drop", "fix", "unsure"]  # the decisions that have labels: all except ``undo``
KINDS: tuple[Answerable, ...] = get_args(Answerable)
Editable = Literal["question", "options", "answer", "tags"]
Shown = Literal["replies", "verdicts", "findings"]
LONGEST_ANSWER, LONGEST_TEXT, LONGEST_EDITS, LONGEST_NAME = 4_000, 10_000, 200_000, 60
"""Characters: of an answer to a field, of a reason, comment or answer to the item, of edits, of a person's name."""
_ENDINGS = (".yaml", ".yml")
_Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]*$", max_length=60)]
_Words = Annotated[str, msgspec.Meta(pattern=r"\S", max_length=300)]


class FormField(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One question to a reviewer: a single choice, a multiple choice, or free text."""

    name: _Name
    ask: _Words
    kind: Literal["choice", "several", "text"] = "choice"
    values: tuple[_Words, ...] = ()
    required: bool = True  # whether a decision needs it; ``unsure`` does not
    tag: str = ""  # in a revision the answer becomes this tag of the item
    when: tuple[Answerable, ...] = ()  # asked with these decisions only; with every one if empty

    def __post_init__(self) -> None:
        if self.kind == "text" and self.values:
            raise ValueError(f"{self.name}: a text has no values; write kind: choice or several")
        if self.kind != "text" and len(self.values) < 2:
            raise ValueError(f"{self.name}: a {self.kind} takes at least two values")
        if self.kind == "several" and self.tag:
            raise ValueError(f"{self.name}: a tag has one value; write kind: choice, or no tag")
        if twice := [value for value in self.values if self.values.count(value) > 1]:
            raise ValueError(f'{self.name}: the value "{twice[0]}" is there {self.values.count(twice[0])} times')

    def check(self, answer: Any) -> Any:
        """An answer as stored: several in the order of the values, None for an empty one."""
        words = answer if self.kind == "several" and isinstance(answer, list | tuple) else [answer]
        if odd := [word for word in words if not isinstance(word, str)]:
            expected = {"choice": "one of its values", "several": "a list of its values", "text": "a text"}[self.kind]
            raise InputError(f"{self.name}: found {short(odd[0])}, expected {expected}")
        if self.kind == "several":
            chosen = {self._value(word) for word in words}
            return [value for value in self.values if value in chosen] or None
        if self.kind == "text" and len(answer) > LONGEST_ANSWER:
            raise InputError(f"{self.name}: {len(answer):,} characters; at most {LONGEST_ANSWER:,} are kept")
        text = answer.strip()
        return self._value(text) if text and self.kind == "choice" else text or None

    def _value(self, word: str) -> str:
        if word not in self.values:
            raise InputError(f'{self.name}: no value "{short(word)[1:-1]}"; {nearest(word, self.values)}')
        return word


class Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a reviewer is asked about an item, what a fix may change, and what is shown besides the item."""

    name: str = PLAIN
    about: str = ""
    fields: tuple[FormField, ...] = ()
    reasons: tuple[_Words, ...] = ()
    """Offered where an item is dropped; a reviewer may write another."""
    edits: tuple[Editable, ...] = get_args(Editable)
    solve: bool = False
    """Whether the reviewer answers the item before its gold is shown."""
    shows: tuple[Shown, ...] = get_args(Shown)

    def __post_init__(self) -> None:
        names, tags = [field.name for field in self.fields], [field.tag for field in self.fields if field.tag]
        for values, words in ((names, "are called"), (tags, "give the tag")):
            if twice := [value for value in values if values.count(value) > 1]:
                raise ValueError(f'{values.count(twice[0])} fields {words} "{twice[0]}"')

    @property
    def words(self) -> str:
        """All questions in one paragraph, for reviewers who use a table only."""
        return " ".join([self.about.strip(), *(field.ask for field in self.fields)]).strip()

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
    if words in names:
        source = resources.files("eyetest.studio.forms") / f"{words}.yaml"
        return _parse(source.read_text(encoding="utf-8"), words, words)
    if words.endswith(_ENDINGS):
        return _parse(read_text(Path(words)), Path(words).stem, words)
    if len(words.split()) == 1 and (hint := nearest(words, names)).startswith("did you mean"):
        raise InputError(f'no form "{words}"; {hint}')
    return msgspec.structs.replace(load_form(), about=words)


def _parse(text: str, name: str, where: str) -> Form:
    content = parse_yaml(text, where)
    if not isinstance(content, dict):
        raise InputError(f"{where}: a form is a list of settings with their names: about, fields, reasons …")
    return convert({"name": name, **content}, Form, where)


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


def check_kind(word: object) -> Answerable:
    """A decision by its word."""
    kind = next((one for one in KINDS if one == word), None)
    if kind is None:
        raise InputError(f"decision: found {short(word)}; {nearest(str(word), KINDS)}")
    return kind


def check_decision(decision: Decision, form: Form, item: Item | None) -> Decision:
    """A decision as stored, with its labels in order; refused where the form or the item does not allow it."""
    for name in ("reason", "comment", "solved"):
        short_enough(name, getattr(decision, name))
    if decision.edits and decision.decision != "fix":
        raise InputError(f"edits: only a fix changes an item, and this is {decision.decision}")
    if decision.decision == "undo":
        return decision
    short_enough("edits", str(decision.edits), LONGEST_EDITS)
    for key in decision.edits:
        if ("options" if len(key) == 1 else key) not in form.edits:
            problem = f"only {', '.join(form.edits)} may be changed" if form.edits else "nothing may be changed"
            raise InputError(f"{short(key)}: {problem} here")
    if item is not None:
        edited(item, decision.edits)
    return msgspec.structs.replace(decision, labels=check_labels(form, decision.decision, decision.labels))


def short_enough(name: str, text: str, most: int = LONGEST_TEXT) -> str:
    """A text within the length limit."""
    if len(text) > most:
        raise InputError(f"{name}: {len(text):,} characters; at most {most:,} are kept")
    return text


def edited(item: Item, edits: Mapping[str, Any]) -> Item:
    """An item with a reviewer's edits: question, answer, tags, the text of an option by its letter."""
    changes: dict[str, Any] = {}
    choices = list(item.choices)
    letters = [letter(index) for index in range(len(choices))]
    for key, value in edits.items():
        if key == "question" and str(value).strip():
            changes["question"] = str(value)
        elif key == "answer" and choices:
            golds = _golds(value, letters, item)
            choices = [msgspec.structs.replace(one, correct=index in golds) for index, one in enumerate(choices)]
        elif key == "answer" and value not in ("", []):
            changes["references"] = tuple(map(str, value)) if isinstance(value, list) else (str(value),)
        elif key == "tags" and isinstance(value, Mapping):
            changes["tags"] = _retagged(item, value)
        elif key.upper() in letters:
            index = letters.index(key.upper())
            choices[index] = msgspec.structs.replace(choices[index], text=str(value))
        else:
            problem = (
                f"an edit may change question, answer, tags or an option, and not to nothing; found {short(key)}"
            )
            raise InputError(f"item {short(item.id)}: {problem}")
    return msgspec.structs.replace(item, choices=tuple(choices), **changes)


def _retagged(item: Item, tags: Mapping[str, Any]) -> dict[str, Any]:
    """The tags of an item with some changed; an empty value removes a tag."""
    for name, value in tags.items():
        if isinstance(value, Mapping | list) or not str(name).strip():
            raise InputError(f"item {short(item.id)}: a tag is a word or a number, not {short(value)}")
    changed = {**item.tags, **tags}
    return {name: value for name, value in changed.items() if value is not None and tag_word(value) != ""}


def _golds(value: Any, letters: Sequence[str], item: Item) -> set[int]:
    words = value if isinstance(value, list) else str(value).split(",")
    named = [str(word).strip().upper() for word in words]
    if unknown := [name for name in named or [""] if name not in letters]:
        raise InputError(f"item {short(item.id)}: an answer is one of {', '.join(letters)}, not {short(unknown[0])}")
    return {letters.index(name) for name in named}


def checked_name(name: str, field: str = "name") -> str:
    """A name without outer spaces that fits in one line of a page."""
    word = name.strip()
    if not word or len(word) > LONGEST_NAME or not word.isprintable():
        expected = f"expected at most {LONGEST_NAME} characters that can be printed"
        raise InputError(f"{field}: found {short(name)}, {expected}")
    return word
