"""An item and a condition become what a model is shown.

The gold takes no part in it: two items that differ only in which choice is right give the same prompt. What is left
out under a sight is left out of otherwise unchanged words, so that a difference in score is a difference in sight.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

import msgspec

from eyetest.errors import EyetestError
from eyetest.prompts.wording import Example, TaskKind, instruction, shot_words, sight_words
from eyetest.records import (
    MAX_CHOICES,
    PLACEHOLDER,
    Condition,
    GreyPicture,
    Item,
    Message,
    Part,
    Picture,
    Prompt,
    Words,
    image_numbers,
    mark,
    shown_order,
)
from eyetest.records.tables import Ask, Marks, Sight

_OWN_LINE = re.compile(rf"^[ \t]*(?:{PLACEHOLDER.pattern}[ \t]*)+(?:\n|\Z)", re.MULTILINE | PLACEHOLDER.flags)
_OPENING, _CLOSING = "([（", ")]）"
_TIGHT = ".,;:!?%)]}，。；：！？、）"
"""Marks that take no space before them."""


def names_picture(text: str) -> bool:
    """Whether a picture stands in a text; most texts have none, and are passed on untouched."""
    return "<" in text and PLACEHOLDER.search(text) is not None


def remove(text: str, known: int = 0) -> str:
    """A text without the placeholders of pictures beyond the ``known`` first, and without the gaps they would leave.

    Brackets around nothing else go too, and so does a line that held nothing else.
    """
    if not names_picture(text):
        return text
    first, *rest = PLACEHOLDER.split(text)
    kept = [first]
    for number, after in zip(rest[::2], rest[1::2], strict=True):
        if 1 <= int(number) <= known:
            kept += (f"<image {number}>", after)
        else:
            kept.append(_closed(kept, after))
    return "".join(kept)


def _closed(kept: list[str], after: str) -> str:
    """Close the gap between what was kept and what comes next; gives the latter, with a space if one is needed."""
    spaced = _strip_end(kept) or after[:1] in (" ", "\t")
    after = after.lstrip(" \t")
    before = kept[-1][-1:] if kept else ""
    if before and before in _OPENING and after and after[0] == _CLOSING[_OPENING.index(before)]:
        kept[-1] = kept[-1][:-1]
        spaced = _strip_end(kept) or after[1:2] in (" ", "\t")
        after = after[1:].lstrip(" \t")
        before = kept[-1][-1:] if kept else ""
    if before in ("", "\n"):
        return after.removeprefix("\n")
    if not after or after[0] == "\n" or after[0] in _TIGHT or before in _OPENING:
        return after
    return f" {after}" if spaced or (before.isascii() and after[0].isascii()) else after


def _strip_end(kept: list[str]) -> bool:
    """Take spaces off the end; says whether there were any."""
    stripped = False
    while kept:
        bare = kept[-1].rstrip(" \t")
        stripped = stripped or len(bare) < len(kept[-1])
        kept[-1] = bare
        if bare:
            break
        kept.pop()
    return stripped


def label(text: str, known: int = 0) -> str:
    """A text in which pictures beyond the ``known`` first are spoken of instead of shown."""
    if not names_picture(text):
        return text
    return PLACEHOLDER.sub(lambda match: match[0] if 1 <= int(match[1]) <= known else name(int(match[1])), text)


def label_within(text: str, pictures: int) -> str:
    """A text that speaks of its pictures: not of such as there are none of, nor on lines that hold nothing else."""
    return label(remove(_OWN_LINE.sub("", text), pictures))


def name(number: int) -> str:
    """How a picture is spoken of."""
    return sight_words().label.replace("{n}", str(number))


class Placer:
    """Puts pictures where the texts of one prompt name them, each once.

    A picture that is named again is called by its label there, and carries that label where it stands: an item whose
    ten options all name seven pictures would otherwise be sent with seventy.
    """

    def __init__(self, texts: Iterable[str], pictures: Sequence[Part]) -> None:
        mentions = Counter(n for text in texts for n in image_numbers(text))
        self._labelled = {number for number, count in mentions.items() if count > 1}
        self._waiting = dict(enumerate(pictures, 1))
        self.unnamed = tuple(part for number, part in self._waiting.items() if number not in mentions)

    def parts(self, text: str) -> tuple[Part, ...]:
        """A text with its pictures."""
        if not names_picture(text):
            return (Words(text),)
        first, *rest = PLACEHOLDER.split(text)
        parts: list[Part] = []
        words = first
        for number, after in zip(map(int, rest[::2]), rest[1::2], strict=True):
            if number in self._labelled:
                words += name(number)
            if (picture := self._waiting.pop(number, None)) is not None:
                if words.strip():
                    parts.append(Words(words))
                parts.append(picture)
                words = ""
            words += after
        if words.strip():
            parts.append(Words(words))
        return tuple(parts)


SCREENSHOT_STEP = "screenshot"
"""The step in an item's lineage that put its question and options into a picture."""


class CannotApply(EyetestError):  # noqa: N818  (it is no mistake: such calls are left out and counted)
    """A condition has no meaning for an item. ``reason`` is short and the same for all such items, to be counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class View(msgspec.Struct, frozen=True):
    """What is shown of an item."""

    pictures: Literal["true", "grey", "words", "none"] = "true"
    question: bool = True
    options: bool = True

    def placed(self, item: Item) -> int:
        """How many of the item's pictures have something to stand in their place."""
        return len(item.images) if self.pictures in ("true", "grey") else 0


VIEWS: dict[Sight, View] = {
    "image": View(),
    "blind": View(pictures="none"),
    "blind-guess": View(pictures="none"),
    "no-question": View(question=False),
    "nothing": View(pictures="none", question=False),
    "grey": View(pictures="grey"),
    "caption": View(pictures="words"),
    "screenshot": View(question=False, options=False),
}


_DIGITS = 9
"""So many marks of one digit there are; 1 and 10 begin alike, and cannot be told by a first token."""


def refuse(item: Item, condition: Condition) -> None:
    """Raise CannotApply where the condition would not be what its name says."""
    if condition.method != "generate":
        if not item.choices:
            raise CannotApply("no options")
        if condition.ask != "direct":
            raise CannotApply("likelihood is asked directly")
        if condition.method == "first-token" and condition.marks == "digit" and len(item.choices) > _DIGITS:
            raise CannotApply("marks of several digits")
    match condition.sight:
        case "grey" | "no-question" if not item.images:
            raise CannotApply("no picture")
        case "nothing" if not item.choices:
            raise CannotApply("no options")
        case "caption" if not item.description.strip():
            raise CannotApply("no description")
        case "screenshot":
            _refuse_screenshot(item, condition)
    if condition.ask == "ocr" and (VIEWS[condition.sight].pictures != "true" or not item.images):
        raise CannotApply("no picture")


def _refuse_screenshot(item: Item, condition: Condition) -> None:
    """Options inside a picture can be neither reordered, nor marked anew, nor left out."""
    if not any(step.step == SCREENSHOT_STEP for step in item.lineage):
        raise CannotApply("not a screenshot")
    if not item.images:
        raise CannotApply("no picture")
    as_drawn = condition.order == 0 and condition.marks == "upper" and condition.method != "likelihood"
    if item.choices and not as_drawn:
        raise CannotApply("options are drawn in the picture")


_MARKS: dict[Marks, tuple[str, ...]] = {
    style: tuple(mark(style, position) for position in range(MAX_CHOICES)) for style in ("upper", "lower", "digit")
}


def option_lines(options: Sequence[str], marks: Marks) -> list[str]:
    """One option a line, each behind its mark."""
    shown = zip(_MARKS[marks][: len(options)], options, strict=True)
    return [f"{mark}. {option}" if option else f"{mark}." for mark, option in shown]


def example_messages(kind: TaskKind, condition: Condition, options: int) -> tuple[Message, ...]:
    """The examples that go before an item with so many options."""
    if condition.shots == "none":
        return ()
    return _exchanges(condition.shots, kind, condition.ask, condition.template, condition.marks, options)


@cache
def _exchanges(
    shots: Literal["format", "two"], kind: TaskKind, ask: Ask, template: int, marks: Marks, options: int
) -> tuple[Message, ...]:
    told = instruction(kind, ask, template, marks, 0)
    messages: list[Message] = []
    for example in _chosen(shots, kind, options):
        asked = "\n".join((example.question, *option_lines(example.options, marks)))
        messages.append(Message("user", (Words(f"{asked}\n\n{told}"),)))
        messages.append(Message("assistant", (Words(_answer(example, asked, ask, marks)),)))
    return tuple(messages)


def _chosen(shots: Literal["format", "two"], kind: TaskKind, options: int) -> tuple[Example, ...]:
    """For choice items the examples with the most options that are not more than the item's own.

    An example that answers D would invite an answer that an item with two options does not have.
    """
    examples = shot_words().format if shots == "format" else shot_words().two
    if kind != "choice":
        return examples.caption if kind == "caption" else examples.text
    sizes = {len(example.options) for example in examples.choice}
    size = max((size for size in sizes if size <= options), default=min(sizes))
    return tuple(example for example in examples.choice if len(example.options) == size)


def _answer(example: Example, asked: str, ask: Ask, marks: Marks) -> str:
    answer = _MARKS[marks][example.options.index(example.answer)] if example.options else example.answer
    if ask == "direct":
        return f"{shot_words().opening}{answer}{shot_words().closing}" if example.options else answer
    before = example.reason if ask == "cot" else asked
    return f"{before}\nAnswer: {answer}"


_ONE = (
    "Describe this picture for somebody who cannot see it and will be asked about it. Say everything that could "
    "matter: what is shown and where, how many of each, colours, shapes, sizes and relations; copy all text, "
    "numbers, labels and axes exactly. Do not guess at what is not there."
)
_MANY = " There are {n} pictures; describe each one in turn, under its number."


def description_prompt(item: Item) -> Prompt:
    """Ask for a description of all pictures of an item."""
    pictures = tuple(Picture(image) for image in item.images)
    more = _MANY.replace("{n}", str(len(pictures))) if len(pictures) > 1 else ""
    return Prompt((Message("user", (*pictures, Words(_ONE + more))),))


_CAPTION_TASKS = ("caption", "captioning", "image captioning")


def build(item: Item, condition: Condition, *, prefill: bool = False, answers: Sequence[str] | None = None) -> Prompt:
    """What a model is shown of an item under a condition.

    ``prefill`` begins the model's turn for it, where the answer format has a beginning: after a ``format`` shot, for
    a direct choice. ``answers`` are what the model itself said to the earlier turns, one each, where its history is
    to be its own. Raises CannotApply where the condition has no meaning for the item.
    """
    refuse(item, condition)
    view = VIEWS[condition.sight]
    weighed = condition.method == "likelihood"
    kind: TaskKind = "open" if weighed else task_kind(item)
    candidates = _candidates(item) if weighed else ()
    if condition.method == "first-token":
        candidates = _marks_shown(item, condition)
    closing = _closing(item, condition, kind)
    turns = _turns(item, view, _answers(item, condition, answers)) if tells_history(item, condition) else []
    body = _body(item, condition, view)
    if not (body or turns or item.choices or view.placed(item) or view.pictures == "words"):
        raise CannotApply("no question")
    asked = [question for question, _ in turns]
    asked.append(f"{body}\n\n{closing}" if body else closing)
    messages = [*example_messages(kind, condition, len(item.choices))]
    messages += _dialogue(item, view, asked, [answer for _, answer in turns])
    begun = prefill and condition.shots == "format" and condition.ask == "direct" and kind == "choice"
    opening = shot_words().opening if begun else ""
    return Prompt(tuple(messages), opening, candidates, first_token=condition.method == "first-token")


def task_kind(item: Item) -> TaskKind:
    """Which list of instructions an item takes its own from, when its options are shown."""
    if item.choices:
        return "choice"
    return "caption" if item.tags.get("task") in _CAPTION_TASKS else "text"


def _candidates(item: Item) -> tuple[str, ...]:
    """The choices as they are written. One without words would be the likeliest continuation of anything."""
    texts = []
    for choice in item.choices:
        text = remove(choice.text)
        if not text.strip():
            raise CannotApply("options are pictures" if names_picture(choice.text) else "empty option")
        texts.append(text)
    return tuple(texts)


def _marks_shown(item: Item, condition: Condition) -> tuple[str, ...]:
    """The mark under which each choice is shown."""
    order = shown_order(item, condition)
    return tuple(_MARKS[condition.marks][order.index(position)] for position in range(len(item.choices)))


def _closing(item: Item, condition: Condition, kind: TaskKind) -> str:
    """The instruction, and before it what the sight has to say."""
    told = instruction(kind, condition.ask, condition.template, condition.marks, min(len(item.images), 2))
    if condition.sight == "blind-guess":
        words = sight_words()
        missing = max(len(item.images), len(item.image_numbers))
        return "\n".join((*((words.missing.of(missing),) if missing else ()), words.guess, told))
    if condition.sight == "screenshot":
        return f"{sight_words().screenshot.of(len(item.images))}\n{told}"
    return told


def _body(item: Item, condition: Condition, view: View) -> str:
    """Hint, question and options, one below the other."""
    lines: list[str] = []
    if view.question:
        lines += [line for text in (item.hint, item.question) if (line := _shown(text, item, view))]
    if view.options and item.choices and condition.method != "likelihood":
        options = _options(item, view)
        lines += option_lines([options[i] for i in shown_order(item, condition)], condition.marks)
    return "\n".join(lines)


def _shown(text: str, item: Item, view: View) -> str:
    """A text of the item with placeholders only for the pictures that will be put there."""
    if names_picture(text):
        text = label_within(text, len(item.images)) if view.pictures == "words" else remove(text, view.placed(item))
    return text.strip()


def _options(item: Item, view: View) -> list[str]:
    """The options' texts. One that says nothing, or the same as another, without its pictures names them instead."""
    texts = [choice.text.strip() for choice in item.choices]
    if not any(names_picture(text) for text in texts):
        return texts
    if view.pictures == "words":
        return [label(text) for text in texts]
    placed = view.placed(item)
    left = [remove(text, placed).strip() for text in texts]
    times = Counter(left)
    return [
        rest if times[rest] == 1 and any(map(str.isalnum, rest)) else label(text, placed)
        for text, rest in zip(texts, left, strict=True)
    ]


def tells_history(item: Item, condition: Condition) -> bool:
    """Whether a model is told of earlier turns: there are some, and questions are shown at all."""
    return bool(item.history) and VIEWS[condition.sight].question


def _answers(item: Item, condition: Condition, own: Sequence[str] | None) -> Sequence[str]:
    if condition.history == "gold":
        return [turn.answer for turn in item.history]
    if own is None:
        raise CannotApply("own answers are known only in a run")
    return own


def _turns(item: Item, view: View, answers: Sequence[str]) -> list[tuple[str, str]]:
    """Earlier turns with their answers. A turn of which one side is blank could not be sent and is left out."""
    turns = []
    for turn, said in zip(item.history, answers, strict=True):
        question = _shown(turn.question, item, view) or label(turn.question).strip()
        answer = remove(said).strip() or label(said).strip()
        if question and answer:
            turns.append((question, answer))
    return turns


def _dialogue(item: Item, view: View, asked: list[str], answers: list[str]) -> list[Message]:
    """User and assistant by turns. What no text names, or a description of it, opens the first message."""
    pictures: list[Part] = []
    if view.pictures == "true":
        pictures = [Picture(image) for image in item.images]
    elif view.pictures == "grey":
        pictures = [GreyPicture(image.width, image.height) for image in item.images]
    elif view.pictures == "words":
        described = f"{sight_words().described.of(len(item.images))}\n{label(item.description).strip()}"
        asked[0] = f"{described}\n\n{asked[0]}"
    placer = Placer(asked, pictures)
    messages = [Message("user", (*placer.unnamed, *placer.parts(asked[0])))]
    for answer, question in zip(answers, asked[1:], strict=True):
        messages.append(Message("assistant", (Words(answer),)))
        messages.append(Message("user", placer.parts(question)))
    return messages
