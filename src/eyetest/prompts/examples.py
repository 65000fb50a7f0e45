"""In-context examples as exchanges between user and assistant. None of them speaks of a picture."""

from collections.abc import Sequence
from functools import cache
from typing import Literal

from eyetest.prompts.wording import Example, TaskKind, instruction, shot_words
from eyetest.records import MAX_CHOICES, Condition, Message, Words, mark
from eyetest.records.condition import Ask, Marks

_MARKS: dict[Marks, tuple[str, ...]] = {
    style: tuple(mark(style, place) for place in range(MAX_CHOICES)) for style in ("upper", "lower", "digit")
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
