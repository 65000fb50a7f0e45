"""Our own words, read from ``templates/``: instructions, examples, and what is said about pictures.

They are data, so that a wording can be read, counted and changed without reading code. A placeholder in them is
filled by plain replacement; nothing in a template is ever run.
"""

from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, TypeVar

import msgspec

from eyetest.errors import EyetestError, InputError
from eyetest.records.tables import Ask, Marks
from eyetest.store.handwritten import parse_yaml

TaskKind = Literal["choice", "text", "caption", "open"]
FEWEST_TEMPLATES = 6
"""Fewer wordings would leave too little to tell a model's answer from its mood."""

_Sentence = Annotated[str, msgspec.Meta(pattern=r"\S")]
_Sentences = Annotated[tuple[_Sentence, ...], msgspec.Meta(min_length=FEWEST_TEMPLATES)]
_Data = TypeVar("_Data")


class Instructions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The equivalent instructions of one kind of task; one that cannot be asked in a way has none for it."""

    direct: _Sentences
    cot: _Sentences | None = None
    ocr: _Sentences | None = None


class Example(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question with its answer, and why. The answer to a question with options is one of them."""

    question: _Sentence
    answer: _Sentence
    reason: _Sentence
    options: tuple[_Sentence, ...] = ()

    def __post_init__(self) -> None:
        if self.options and self.options.count(self.answer) != 1:
            raise ValueError(f'the answer "{self.answer}" is not exactly one of the options')


class ExampleSet(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Examples by kind of task; those of a choice question come in several numbers of options."""

    choice: tuple[Example, ...]
    text: tuple[Example, ...]
    caption: tuple[Example, ...]


class Shots(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All in-context examples, and how an answer by mark looks in them."""

    opening: _Sentence
    closing: str
    format: ExampleSet
    two: ExampleSet


class Number(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A sentence in singular and plural."""

    one: _Sentence
    several: _Sentence

    def of(self, pictures: int) -> str:
        """The sentence about so many pictures."""
        return self.several if pictures > 1 else self.one


class SightWords(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is said about pictures that are missing, described, or hold the whole question."""

    missing: Number
    guess: _Sentence
    described: Number
    screenshot: Number
    place: Number
    label: _Sentence


def _load(name: str, kind: type[_Data]) -> _Data:
    text = files("eyetest.prompts").joinpath("templates", f"{name}.yaml").read_text(encoding="utf-8")
    try:
        return msgspec.convert(parse_yaml(text, name), kind)
    except (InputError, msgspec.ValidationError) as error:
        raise EyetestError(f"eyetest's own templates/{name}.yaml is damaged: {error}") from None


@cache
def _instructions(kind: TaskKind) -> Instructions:
    return _load(kind, Instructions)


@cache
def shot_words() -> Shots:
    """The in-context examples."""
    return _load("shots", Shots)


@cache
def sight_words() -> SightWords:
    """What is said about pictures."""
    return _load("sights", SightWords)


def templates(kind: TaskKind, ask: Ask) -> tuple[str, ...]:
    """The equivalent instructions for a kind of task and a way of asking, with their placeholders unfilled."""
    return getattr(_instructions(kind), ask) or ()


def template_count(kind: TaskKind, ask: Ask) -> int:
    """How many instructions there are to choose from."""
    return len(templates(kind, ask))


@cache
def instruction(kind: TaskKind, ask: Ask, template: int, marks: Marks, pictures: int) -> str:
    """One instruction, filled; ``pictures`` is how many there are to read from, 0 in an example."""
    wordings = templates(kind, ask)
    if not 0 <= template < len(wordings):
        known = f"{len(wordings)} templates for {kind} questions asked {ask}, 0 to {len(wordings) - 1}"
        raise InputError(f"template {template}: there are {known}")
    phrase = sight_words().place.of(pictures) if pictures else ""
    return wordings[template].replace("{mark}", "number" if marks == "digit" else "letter").replace("{place}", phrase)
