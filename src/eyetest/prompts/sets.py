"""Prompt sets: every text that models are sent beside an item's own, in YAML files of eyetest or of the user.

``sets/eyetest.yaml`` has all texts; another set replaces some of them, for all items or for those with a tag's value.
Its label, a name and the hash of its texts, is an axis of conditions: other prompts give other scores.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from eyetest.errors import InputError, nearest, short
from eyetest.records import Condition, Item, tag_word
from eyetest.records.tables import USUAL_PROMPTS, Ask
from eyetest.store.handwritten import convert, parse_yaml, read_text

TaskKind = Literal["choice", "text", "caption", "open"]
Numbered = str | dict[Literal["one", "several"], str]  # a text, or one about one image and one about several
_SLOT = re.compile(r"\{\{([a-z_]+)\}\}|\{([a-z_]+)\}")
_SLOTS = {  # the slots that a text needs, and those that it may have
    "layout choice": ("question options instruction", "hint"),
    "layout": ("question instruction", "hint"),
    "option": ("letter option", ""),
    "instructions": ("", "mark place"),
    "reply": ("letter", "option"),
    "roles describer": ("", "n"),
    "roles judge": ("options reply", ""),
    "roles gold_judge": ("question answer", "options"),
    "roles caption_judge": ("answer", ""),
    "roles sentence_judge": ("sentences", ""),
    "roles writer": ("question answer count", "present turned_down"),
    "roles present": ("options", ""),
    "roles turned_down": ("refused", ""),
    "roles checker": ("question answer proposed", "present"),
}


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """An in-context example; ``reply`` is the exact text of its answer, where that is not made from the others."""

    question: str
    answer: str
    options: tuple[str, ...] = ()
    reason: str = ""
    reply: str = ""

    def __post_init__(self) -> None:
        if self.options and self.answer not in self.options:
            raise ValueError(f"the answer {short(self.answer)} is none of its options")


_Size = Annotated[str, msgspec.Meta(pattern="^[1-9][0-9]?$")]
Examples = tuple[Example, ...] | dict[_Size, tuple[Example, ...]]
"""Examples for all items, or by number of options: an item gets those with the most that are not above its own."""


class Wording(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, eq=False):
    """The texts for some items, as ``sets/eyetest.yaml`` explains them; hashed by identity, as keys of caches."""

    system: str = ""
    layout: dict[str, str] = {}
    option: str = ""
    between: str = ""
    instructions: dict[str, dict[str, str | tuple[str, ...]]] = {}
    examples: dict[str, dict[str, Examples]] = {}
    reply: str = ""  # a direct answer to a question with options, as examples give it
    sentences: dict[str, Numbered] = {}
    roles: dict[str, Numbered] = {}

    def templates(self, kind: TaskKind, ask: Ask) -> tuple[str, ...]:
        """The equivalent instructions for a kind of task and a way of asking, unfilled."""
        known = self.instructions[kind].get(ask, ())
        return (known,) if isinstance(known, str) else known

    def sentence(self, name: str, images: int) -> str:
        """Text about so many images."""
        return _numbered(self.sentences[name], images)

    def role(self, name: str, **values: str) -> str:
        """What a model in a role is asked; ``n`` is the number of images."""
        return fill(_numbered(self.roles[name], int(values.get("n", 1))), **values)


class _Task(Wording, frozen=True, kw_only=True):
    when: dict[str, str | tuple[str, ...]]

    def applies(self, item: Item) -> bool:
        """Whether the item has one of the values of each tag."""
        return all(
            (tag_word(item.tags.get(tag)) or "") in ((values,) if isinstance(values, str) else values)
            for tag, values in self.when.items()
        )


class PromptFile(Wording, frozen=True, kw_only=True):
    """A file of prompts: its texts, and others for items with certain tags, of which the first that apply count."""

    about: str = ""
    differences: tuple[str, ...] = ()  # from the paper that it is named after
    tasks: tuple[_Task, ...] = ()


class Prompts:
    """A named set of prompts. ``label`` is that of its texts for questions, ``roles`` that of those for judges,
    writers and describers; each is the usual one where a set changes nothing of them.
    """

    def __init__(self, name: str, texts: PromptFile, where: str) -> None:
        self.name, self.texts = name, texts
        own = msgspec.to_builtins(texts)
        tasks = own.pop("tasks", [])
        own = {key: value for key, value in own.items() if key not in ("about", "differences")}
        parts = [({}, own), *((task.pop("when"), task) for task in tasks)]
        for (_, *path), text in _texts([part for _, part in parts]):
            _check(path, text, where)
        roles = [(when, part["roles"]) for when, part in parts if "roles" in part]
        asking = [(when, {key: part[key] for key in part if key != "roles"}) for when, part in parts]
        self.label, self.roles = self._labelled([part for part in asking if part[1]]), self._labelled(roles)
        self.plain: Wording
        merged = own if name == USUAL_PROMPTS else _merged(msgspec.to_builtins(load_prompts().plain), own, where)
        self.plain, *self._by_task = (msgspec.convert(_merged(merged, part, where), Wording) for part in ({}, *tasks))

    def _labelled(self, texts: Sequence[Any]) -> str:
        if not texts or self.name == USUAL_PROMPTS:
            return USUAL_PROMPTS
        return f"{self.name}@{blake2b(msgspec.json.encode(texts, order='sorted'), digest_size=4).hexdigest()}"

    @property
    def recorded(self) -> dict[str, Any]:
        """Its texts by their label for roles, for a run's record; none where these are the usual ones."""
        return {self.roles: msgspec.to_builtins(self.texts)} if self.roles != USUAL_PROMPTS else {}

    def of(self, item: Item) -> Wording:
        """The texts for an item."""
        theirs = zip(self.texts.tasks, self._by_task, strict=True)
        return next((wording for task, wording in theirs if task.applies(item)), self.plain)


def fill(template: str, **values: str) -> str:
    """A template with its slots filled, in one pass: a question may have braces, too. ``{{name}}`` is ``{name}``."""
    return _SLOT.sub(lambda slot: f"{{{slot[1]}}}" if slot[1] else values.get(slot[2], slot[0]), template)


def slots(template: str) -> set[str]:
    """The names of the slots of a template."""
    return {slot[2] for slot in _SLOT.finditer(template) if slot[2]}


def _numbered(text: Numbered, images: int) -> str:
    return text if isinstance(text, str) else text["several" if images > 1 else "one"]


def _check(path: Sequence[str], text: str, where: str) -> None:
    """Refuse a text with an unknown slot, or without one that it needs."""
    needed, allowed = _SLOTS.get(" ".join(path[:2])) or _SLOTS.get(path[0]) or (None, "")
    if needed is None:
        return
    there, known = slots(text), [*needed.split(), *allowed.split()]
    if unknown := sorted(there - {*known}):
        raise InputError(f"{where}, {', '.join(path)}: no slot {{{unknown[0]}}}; {nearest(unknown[0], known)}")
    if missing := [name for name in needed.split() if name not in there]:
        raise InputError(f"{where}, {', '.join(path)}: {{{missing[0]}}} is missing in {short(text)}")


def _texts(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, str):
        yield path, value
        return
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value, 1):
        yield from _texts(inner, (*path, str(key)))


def _merged(base: Any, over: Any, where: str, levels: int = 3) -> Any:
    """Texts with some replaced; a name that there is not is refused. The examples of a kind are replaced together."""
    if not levels or not isinstance(base, dict) or not isinstance(over, dict):
        return over
    if levels < 3 and (unknown := [key for key in over if key not in base]):
        raise InputError(f'{where}: no setting "{unknown[0]}"; {nearest(unknown[0], base)}')
    return base | {key: _merged(base.get(key), value, f"{where}, {key}", levels - 1) for key, value in over.items()}


_KNOWN: dict[str, Prompts] = {}  # by label: the sets that were read in this process


def known_prompts(label: str) -> Prompts:
    """The set with a label."""
    if label != USUAL_PROMPTS and label not in _KNOWN:
        raise InputError(f"the prompts {short(label)} are not stored with these answers")
    return load_prompts(label)


def prompt_names() -> list[str]:
    """The sets that come with eyetest."""
    return sorted(file.name.removesuffix(".yaml") for file in files("eyetest.prompts").joinpath("sets").iterdir())


def load_prompts(word: str | Path | None = None) -> Prompts:
    """The set of this name, label or file; without any, the usual one."""
    word = str(word or USUAL_PROMPTS)
    if word in _KNOWN or word == USUAL_PROMPTS:
        return _KNOWN.get(word) or _shipped(word)
    if word in (names := prompt_names()):
        found = _shipped(word)
    elif (path := Path(word)).is_file():
        found = _read(re.sub(r"[^\w.-]+", "-", path.stem), read_text(path), word)
    else:
        raise InputError(f"no prompts {short(word)}; {nearest(word, names)}, or a file")
    if found.label != USUAL_PROMPTS:
        _KNOWN[found.label] = found
    return found


def _read(name: str, text: str, where: str) -> Prompts:
    return Prompts(name, convert(parse_yaml(text, where) or {}, PromptFile, where), where)


@cache
def _shipped(name: str) -> Prompts:
    return _read(name, files("eyetest.prompts").joinpath("sets", f"{name}.yaml").read_text("utf-8"), name)


def under(conditions: Iterable[Condition], word: str | Path | None) -> tuple[Condition, ...]:
    """Conditions with the prompts of this name or file, except those that name other prompts themselves."""
    usual, label = USUAL_PROMPTS, load_prompts(word).label
    return tuple(msgspec.structs.replace(c, prompts=label) if c.prompts == usual else c for c in conditions)


def contents(labels: Iterable[str]) -> dict[str, Any]:
    """The texts behind some labels, for a run's record; the usual ones are left out."""
    return {label: msgspec.to_builtins(known_prompts(label).texts) for label in set(labels) - {USUAL_PROMPTS}}


def remember(recorded: Mapping[str, Any]) -> None:
    """Make the prompts of a run's record known."""
    for label, texts in recorded.items():
        if label not in _KNOWN:
            _KNOWN[label] = Prompts(label.partition("@")[0], convert(texts, PromptFile, label), label)
