"""Prompts from items and conditions; all texts beside the item's own come from a prompt set."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

import msgspec

from eyetest.errors import EyetestError, InputError
from eyetest.prompts.sent import promises_medium
from eyetest.prompts.sets import Example, TaskKind, Wording, fill, known_prompts, load_prompts, slots
from eyetest.records import MEDIA_KINDS, PLACEHOLDER, Item, image_numbers, mark, shown_order
from eyetest.records.item import GrayImage, ImagePart, Message, Part, Prompt, Words
from eyetest.records.tables import Ask, Condition, Letters, Modality

SCREENSHOT_STEP = "screenshot"  # the lineage step that put an item's question and options into an image


@lru_cache(maxsize=1_024)
def instruction(wording: Wording, kind: TaskKind, ask: Ask, template: int, letters: Letters, images: int) -> str:
    """A filled instruction; ``images`` is how many images there are to read from, 0 in an example."""
    known = wording.templates(kind, ask)
    if not 0 <= template < len(known):
        count = f"{len(known)} templates for {kind} questions asked {ask}, 0 to {len(known) - 1}"
        raise InputError(f"template {template}: there are {count}")
    place = wording.sentence("place", images) if images else ""
    return fill(known[template], mark="number" if letters == "digit" else "letter", place=place)


@lru_cache(maxsize=256)
def _lines(layout: str) -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((line, frozenset(slots(line))) for line in layout.split("\n"))


def turn_text(layout: str, hint: str, question: str, options: str, request: str) -> str:
    """The text of a turn: a layout without the lines whose slots are all empty."""
    if "{hint}" not in layout:
        question = "\n".join(filter(None, (hint, question)))
    values = {"hint": hint, "question": question, "options": options, "instruction": request}
    kept = [line for line, names in _lines(layout) if not names or any(values[name] for name in names)]
    return fill("\n".join(kept).lstrip("\n"), **values)


_OWN_LINE = re.compile(rf"^[ \t]*(?:{PLACEHOLDER.pattern}[ \t]*)+(?:\n|\Z)", re.MULTILINE | PLACEHOLDER.flags)
_REMOVED = "\0"  # stands for a placeholder that is removed
_BRACKETED = re.compile(r"\([ \t]*\0[\0 \t]*\)|\[[ \t]*\0[\0 \t]*\]|（[ \t]*\0[\0 \t]*）")
_GAP = re.compile(r"(?<![ \t])[ \t]*\0[\0 \t]*(\n?)")
_OPENING = "([（"
_TIGHT = ".,;:!?%)]}，。；：！？、）"


def names_image(text: str) -> bool:
    """Whether a text has an image placeholder; most have none and are passed on unchanged."""
    return "<" in text and PLACEHOLDER.search(text) is not None


def remove(text: str, known: int = 0) -> str:
    """A text without placeholders beyond the first ``known``, nor gaps, brackets and lines that held nothing else."""
    if not names_image(text):
        return text
    text = PLACEHOLDER.sub(lambda m: f"<image {m[1]}>" if 1 <= int(m[1]) <= known else _REMOVED, text)
    return _GAP.sub(_closed, _BRACKETED.sub(_REMOVED, text))


def _closed(gap: re.Match[str]) -> str:
    """What is left of a gap: a line break, a space, or nothing."""
    text = gap.string
    before, after = text[max(gap.start() - 1, 0) : gap.start()], text[gap.end() : gap.end() + 1]
    if before in ("", "\n") or gap[1]:
        return "" if before in ("", "\n") else gap[1]
    if not after or after in _TIGHT or before in _OPENING:
        return ""
    return " " if gap[0] != gap[0].strip(" \t") or (before.isascii() and after.isascii()) else ""


def label(text: str, known: int = 0) -> str:
    """A text in which images beyond the first ``known`` are named instead of shown."""
    if not names_image(text):
        return text
    return PLACEHOLDER.sub(lambda match: match[0] if 1 <= int(match[1]) <= known else name(int(match[1])), text)


def label_within(text: str, images: int) -> str:
    """A text that names its images, but not missing ones, nor those on lines that hold nothing else."""
    return label(remove(_OWN_LINE.sub("", text), images))


def name(number: int) -> str:
    """The name of an image in a text."""
    return f"[image {number}]"


class Placer:
    """Puts images where the texts of a prompt name them, each once; later mentions use its label."""

    def __init__(self, texts: Iterable[str], images: Sequence[Part], *, are_words: bool = False) -> None:
        """``are_words``: placeholders are ordinary words of the text."""
        self._are_words = are_words
        mentions = Counter(n for text in texts for n in (() if are_words else image_numbers(text)))
        self._labelled = {number for number, count in mentions.items() if count > 1}
        self._waiting = dict(enumerate(images, 1))
        self.unnamed = tuple(part for number, part in self._waiting.items() if number not in mentions)

    def parts(self, text: str) -> tuple[Part, ...]:
        """A text with its images."""
        if self._are_words or not names_image(text):
            return (Words(text),)
        first, *rest = PLACEHOLDER.split(text)
        parts: list[Part] = []
        words = first
        for number, after in zip(map(int, rest[::2]), rest[1::2], strict=True):
            if number in self._labelled:
                words += name(number)
            if (image := self._waiting.pop(number, None)) is not None:
                if words.strip():
                    parts.append(Words(words))
                parts.append(image)
                words = ""
            words += after
        if words.strip():
            parts.append(Words(words))
        return tuple(parts)


class CannotApply(EyetestError):  # noqa: N818  (not an error: such calls are left out and counted)
    """A condition has no meaning for an item; ``reason`` is short and equal for all such items, to be counted."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class View(msgspec.Struct, frozen=True):
    """The shown part of an item."""

    images: Literal["true", "gray", "words", "none"] = "true"
    question: bool = True
    options: bool = True

    def placed(self, item: Item) -> int:
        """How many of the item's images are shown or replaced."""
        return len(item.images) if self.images in ("true", "gray") else 0


VIEWS: dict[Modality, View] = {
    "image": View(),
    "no-image": View(images="none"),
    "no-image-guess": View(images="none"),
    "no-question": View(question=False),
    "nothing": View(images="none", question=False),
    "gray": View(images="gray"),
    "caption": View(images="words"),
    "screenshot": View(question=False, options=False),
    **dict.fromkeys(MEDIA_KINDS, View()),  # never built: they are not sent
}


_DIGITS = 9  # numbers of one digit; 1 and 10 have the same first token


def refuse(item: Item, condition: Condition) -> None:
    """Raise CannotApply where the condition would not be what its name says."""
    if promises_medium(item, condition):
        kinds = dict.fromkeys(media.kind for media in item.media) or [condition.modality]
        raise CannotApply(f"{' and '.join(kinds)} not sent")
    _refuse_method(item, condition)
    match condition.modality:
        case "gray" | "no-question" if not item.images:
            raise CannotApply("no image")
        case "nothing" if not item.choices:
            raise CannotApply("no options")
        case "caption" if not item.description.strip():
            raise CannotApply("no description")
        case "screenshot":
            if not any(step.step == SCREENSHOT_STEP for step in item.lineage):
                raise CannotApply("not a screenshot")
            if not item.images:
                raise CannotApply("no image")
            as_drawn = condition.order == 0 and condition.letters == "upper" and condition.method != "likelihood"
            if item.choices and not as_drawn:  # they cannot be reordered, relettered or left out
                raise CannotApply("options are drawn in the image")
    if condition.ask == "ocr" and (VIEWS[condition.modality].images != "true" or not item.images):
        raise CannotApply("no image")


def _refuse_method(item: Item, condition: Condition) -> None:
    """Raise CannotApply where the likelihood of options cannot be asked for."""
    if condition.method == "generate":
        return
    if not item.choices:
        raise CannotApply("no options")
    if condition.ask != "direct":
        raise CannotApply("likelihood is asked directly")
    if condition.method == "first-token" and condition.letters == "digit" and len(item.choices) > _DIGITS:
        raise CannotApply("letters of several digits")


def option_lines(options: Sequence[str], letters: Letters, wording: Wording) -> str:
    """All options, each after its letter."""
    lines = []
    for position, option in enumerate(options):
        line = fill(wording.option, letter=mark(letters, position), option=option)
        lines.append(line if option else line.rstrip())
    return wording.between.join(lines)


@lru_cache(maxsize=1_024)
def example_messages(wording: Wording, kind: TaskKind, condition: Condition, options: int) -> tuple[Message, ...]:
    """The in-context examples for an item with so many options."""
    if condition.shots == "none":
        return ()
    examples = wording.examples[condition.shots]["text" if kind == "open" else kind]
    if isinstance(examples, dict):
        sizes = [int(size) for size in examples]
        examples = examples[str(max((size for size in sizes if size <= options), default=min(sizes)))]
    request = instruction(wording, kind, condition.ask, condition.template, condition.letters, 0)
    messages: list[Message] = []
    for example in examples:
        shown = option_lines(example.options, condition.letters, wording)
        asked = turn_text(wording.layout[kind], "", example.question, shown, request)
        answer = _example_answer(example, shown, condition, wording)
        messages += (Message("user", (Words(asked),)), Message("assistant", (Words(answer),)))
    return tuple(messages)


def _example_answer(example: Example, shown: str, condition: Condition, wording: Wording) -> str:
    if example.reply:
        return example.reply
    answer = example.answer
    if example.options:
        answer = mark(condition.letters, example.options.index(answer))
    if condition.ask == "direct":
        return fill(wording.reply, letter=answer, option=example.answer) if example.options else answer
    asked = "\n".join(filter(None, (example.question, shown)))
    return f"{example.reason if condition.ask == 'cot' else asked}\nAnswer: {answer}"


def description_prompt(item: Item, wording: Wording | None = None) -> Prompt:
    """Ask for a description of all images of an item."""
    images = tuple(ImagePart(image) for image in item.images)
    words = (wording or load_prompts().plain).role("describer", n=str(len(images)))
    return Prompt((Message("user", (*images, Words(words))),))


_CAPTION_TASKS = ("caption", "captioning", "image captioning")


def build(item: Item, condition: Condition, *, prefill: bool = False, answers: Sequence[str] | None = None) -> Prompt:
    """What a model is shown of an item under a condition; raises CannotApply where that has no meaning.

    ``prefill`` begins the model's turn after a ``format`` shot for a direct choice. ``answers`` are the model's own
    to the earlier turns, where its history is to be its own.
    """
    refuse(item, condition)
    view = VIEWS[condition.modality]
    weighed = condition.method == "likelihood"
    kind: TaskKind = "open" if weighed else "choice" if item.choices else "text"
    if kind == "text" and item.tags.get("task") in _CAPTION_TASKS:
        kind = "caption"
    candidates = _candidates(item) if weighed else ()
    if condition.method == "first-token":  # the letter under which each option is shown
        order = shown_order(item, condition)
        candidates = tuple(mark(condition.letters, order.index(i)) for i in range(len(order)))
    wording = known_prompts(condition.prompts).of(item)
    turns = _turns(item, condition, view, answers) if tells_history(item, condition) else []
    hint, question = (_shown(text, item, view) if view.question else "" for text in (item.hint, item.question))
    options = ""
    if view.options and item.choices and not weighed:
        texts = _options(item, view)
        options = option_lines([texts[i] for i in shown_order(item, condition)], condition.letters, wording)
    if not (hint or question or options or turns or item.choices or view.placed(item) or view.images == "words"):
        raise CannotApply("no question")
    asked = [question for question, _ in turns]
    asked.append(turn_text(wording.layout[kind], hint, question, options, _closing(item, condition, kind, wording)))
    messages = [Message("system", (Words(wording.system),))] if wording.system else []
    messages += example_messages(wording, kind, condition, len(item.choices))
    messages += _dialogue(item, view, asked, [answer for _, answer in turns], wording)
    begun = prefill and condition.shots == "format" and condition.ask == "direct" and kind == "choice"
    opening = wording.reply.partition("{")[0] if begun else ""
    return Prompt(tuple(messages), opening, candidates, first_token=condition.method == "first-token")


def _candidates(item: Item) -> tuple[str, ...]:
    """The options as written. An empty one would be the likeliest continuation of anything."""
    texts = []
    for choice in item.choices:
        text = choice.text if item.names_more_images else remove(choice.text)
        if not text.strip():
            raise CannotApply("options are images" if names_image(choice.text) else "empty option")
        texts.append(text)
    return tuple(texts)


def _closing(item: Item, condition: Condition, kind: TaskKind, wording: Wording) -> str:
    """The instruction, after the sentence about the images."""
    images = min(len(item.images), 2)
    lines = [instruction(wording, kind, condition.ask, condition.template, condition.letters, images)]
    if condition.modality == "no-image-guess":
        missing = len(item.images) or len(item.image_numbers)
        lines = [*([wording.sentence("missing", missing)] if missing else []), wording.sentence("guess", 1), *lines]
    if condition.modality == "screenshot":
        lines = [wording.sentence("screenshot", len(item.images)), *lines]
    return "\n".join(filter(None, lines))


def _shown(text: str, item: Item, view: View) -> str:
    """A text of the item with placeholders only for the images that will be put there."""
    if names_image(text) and not item.names_more_images:
        text = label_within(text, len(item.images)) if view.images == "words" else remove(text, view.placed(item))
    return text.strip()


def _options(item: Item, view: View) -> list[str]:
    """The options' texts; one that is empty or ambiguous without its images names them instead."""
    texts = [choice.text.strip() for choice in item.choices]
    if not any(names_image(text) for text in texts) or item.names_more_images:
        return texts
    if view.images == "words":
        return [label(text) for text in texts]
    placed = view.placed(item)
    left = [remove(text, placed).strip() for text in texts]
    times = Counter(left)
    return [
        rest if times[rest] == 1 and any(map(str.isalnum, rest)) else label(text, placed)
        for text, rest in zip(texts, left, strict=True)
    ]


def tells_history(item: Item, condition: Condition) -> bool:
    """Whether earlier turns are shown: there are some, and questions are shown at all."""
    return bool(item.history) and VIEWS[condition.modality].question


def _turns(item: Item, condition: Condition, view: View, own: Sequence[str] | None) -> list[tuple[str, str]]:
    """Earlier turns with their answers; a turn with a blank side could not be sent and is left out."""
    if condition.history == "own" and own is None:
        raise CannotApply("own answers are known only in a run")
    answers = [turn.answer for turn in item.history] if condition.history == "gold" or own is None else own
    turns = []
    for turn, text in zip(item.history, answers, strict=True):
        question = _shown(turn.question, item, view) or label(turn.question).strip()
        answer = remove(text).strip() or label(text).strip()
        if question and answer:
            turns.append((question, answer))
    return turns


def _dialogue(item: Item, view: View, asked: list[str], answers: list[str], wording: Wording) -> list[Message]:
    """User and assistant in turn; images that no text names, or their description, open the first message."""
    images: list[Part] = []
    if view.images == "true":
        images = [ImagePart(image) for image in item.images]
    elif view.images == "gray":
        images = [GrayImage(image.width, image.height) for image in item.images]
    elif view.images == "words":
        described = f"{wording.sentence('described', len(item.images))}\n{label(item.description).strip()}"
        asked[0] = f"{described}\n\n{asked[0]}"
    placer = Placer(asked, images, are_words=item.names_more_images)
    messages = [Message("user", (*placer.unnamed, *placer.parts(asked[0])))]
    for answer, question in zip(answers, asked[1:], strict=True):
        messages.append(Message("assistant", (Words(answer),)))
        messages.append(Message("user", placer.parts(question)))
    return messages
