"""A form: what it asks, what a reviewer may edit and is shown, and whether what was filled in answers it."""

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec

from eyetest.errors import InputError, nearest, short
from eyetest.store.handwritten import convert, parse_yaml, read_text

PLAIN = "plain"
Answerable = Literal["keep", "drop", "fix", "unsure"]
"""The decisions that come with labels: all but ``undo``, which says nothing of its own."""
KINDS: tuple[Answerable, ...] = get_args(Answerable)
Editable = Literal["question", "options", "answer", "tags"]
Shown = Literal["replies", "verdicts", "findings"]
LONGEST_ANSWER = 4_000
"""The longest answer to a field in a reviewer's own words, in characters."""
_ENDINGS = (".yaml", ".yml")
_OTHER_EDITS: tuple[Editable, ...] = ("question", "answer", "tags")
_Name = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9-]*$", max_length=60)]
_Words = Annotated[str, msgspec.Meta(pattern=r"\S", max_length=300)]


class FormField(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One question to a reviewer: one of some values, several of them, or the reviewer's own words."""

    name: _Name
    ask: _Words
    kind: Literal["choice", "several", "text"] = "choice"
    values: tuple[_Words, ...] = ()
    required: bool = True
    """Whether a decision waits for it; nobody who is unsure has to answer."""
    tag: str = ""
    """In a revision the answer becomes this tag of the item."""
    when: tuple[Answerable, ...] = ()
    """Asked with these decisions only; with every one if nothing is said."""

    def __post_init__(self) -> None:
        if self.kind == "text" and self.values:
            raise ValueError(f"{self.name}: a text has no values; write kind: choice or several")
        if self.kind != "text" and len(self.values) < 2:
            raise ValueError(f"{self.name}: a {self.kind} takes at least two values")
        if self.kind == "several" and self.tag:
            raise ValueError(f"{self.name}: a tag has one value; write kind: choice, or no tag")
        if twice := [value for value in self.values if self.values.count(value) > 1]:
            raise ValueError(f'{self.name}: the value "{twice[0]}" is there {self.values.count(twice[0])} times')

    def asked(self, decision: str) -> bool:
        """Whether it is asked with a decision."""
        return decision in (self.when or KINDS)

    def check(self, answer: Any) -> Any:
        """An answer as it is kept: several in the order of the values, None for an empty one."""
        if self.kind == "several":
            words = [answer] if isinstance(answer, str) else answer
            if not isinstance(words, (list, tuple)):
                raise self._complaint(answer)
            chosen = {self._value(word) for word in words}
            return [value for value in self.values if value in chosen] or None
        if not isinstance(answer, str):
            raise self._complaint(answer)
        if self.kind == "text" and len(answer) > LONGEST_ANSWER:
            raise InputError(f"{self.name}: {len(answer):,} characters; at most {LONGEST_ANSWER:,} are kept")
        text = answer.strip()
        return self._value(text) if text and self.kind == "choice" else text or None

    def _value(self, word: Any) -> str:
        if not isinstance(word, str):
            raise self._complaint(word)
        if word not in self.values:
            raise InputError(f'{self.name}: no value "{short(word)[1:-1]}"; {nearest(word, self.values)}')
        return word

    def _complaint(self, answer: Any) -> InputError:
        expected = {"choice": "one of its values", "several": "a list of its values", "text": "a text"}[self.kind]
        return InputError(f"{self.name}: found {short(answer)}, expected {expected}")


class Form(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a reviewer is asked about an item."""

    name: str = PLAIN
    about: str = ""
    """What to look for, in a sentence or two."""
    fields: tuple[FormField, ...] = ()
    reasons: tuple[_Words, ...] = ()
    """Offered where an item is dropped; a reviewer may write another."""
    edits: tuple[Editable, ...] = get_args(Editable)
    """What a fix may change."""
    solve: bool = False
    """Whether the reviewer answers the item before its gold is shown."""
    shows: tuple[Shown, ...] = get_args(Shown)
    """What is shown besides the item."""

    def __post_init__(self) -> None:
        names = [field.name for field in self.fields]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f'{names.count(twice[0])} fields are called "{twice[0]}"')
        tags = [field.tag for field in self.fields if field.tag]
        if twice := [tag for tag in tags if tags.count(tag) > 1]:
            raise ValueError(f'{tags.count(twice[0])} fields give the tag "{twice[0]}"')

    @property
    def words(self) -> str:
        """All that it asks, in one paragraph, for people who have nothing but a table."""
        return " ".join([self.about.strip(), *(field.ask for field in self.fields)]).strip()

    def tags(self, labels: Mapping[str, Any]) -> dict[str, Any]:
        """The tags that some answers become."""
        return {field.tag: labels[field.name] for field in self.fields if field.tag and field.name in labels}

    def asked(self, decision: str) -> tuple[FormField, ...]:
        """The fields that go with a decision."""
        return tuple(field for field in self.fields if field.asked(decision))


def form_names() -> list[str]:
    """The forms that come with eyetest."""
    files = resources.files("eyetest.review.forms").iterdir()
    return sorted(file.name.removesuffix(".yaml") for file in files if file.name.endswith(".yaml"))


def load_form(text: str = PLAIN) -> Form:
    """A form of ours by its name, one in a YAML file, or plain words, which become what the plain form says."""
    words = text.strip() or PLAIN
    names = form_names()
    if words in names:
        source = resources.files("eyetest.review.forms") / f"{words}.yaml"
        return _parse(source.read_text(encoding="utf-8"), words, words)
    if words.endswith(_ENDINGS):
        return _parse(read_text(Path(words)), Path(words).stem, words)
    if len(words.split()) == 1 and (told := nearest(words, names)).startswith("did you mean"):
        raise InputError(f'no form "{words}"; {told}')
    return msgspec.structs.replace(load_form(), about=words)


def _parse(text: str, name: str, where: str) -> Form:
    content = parse_yaml(text, where)
    if not isinstance(content, dict):
        raise InputError(f"{where}: a form is a list of settings with their names: about, fields, reasons …")
    _refuse_bare_words(content, where)
    return convert({"name": name, **content}, Form, where)


def _refuse_bare_words(content: Mapping[Any, Any], where: str) -> None:
    """YAML takes a bare ``yes`` for true, which is no value that anybody could choose."""
    fields = content.get("fields")
    for number, field in enumerate(fields if isinstance(fields, list) else (), 1):
        values = field.get("values") if isinstance(field, dict) else None
        if isinstance(values, list) and any(isinstance(value, bool) for value in values):
            told = 'YAML takes yes and no for true and false; write "yes" and "no"'
            raise InputError(f"{where}, fields {number}, values: {told}")


def check_labels(form: Form, decision: str, labels: Mapping[str, Any]) -> dict[str, Any]:
    """The answers to a form's fields as they are kept; refused where one is wrong, missing or not asked for."""
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


def check_edits(form: Form, edits: Mapping[str, Any]) -> None:
    """Refuse edits of what the form leaves alone; a key that is none of the others is the letter of an option."""
    for key in edits:
        kind = next((one for one in _OTHER_EDITS if one == key), "options")
        if kind not in form.edits:
            told = f"only {', '.join(form.edits)} may be changed" if form.edits else "nothing may be changed"
            raise InputError(f"{short(key)}: {told} here")
