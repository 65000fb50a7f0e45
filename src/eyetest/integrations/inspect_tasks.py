"""inspect-ai: a benchmark as a task, and a scorer that reads replies by eyetest's rules.

``inspect eval eyetest/benchmark -T path=mybench --model …``, or in Python ``eval(benchmark("mybench"), model=…)``.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from eyetest.commands.base import open_bench
from eyetest.errors import InputError, MissingExtraError, short
from eyetest.models import Images
from eyetest.prompts import CannotApply, build
from eyetest.prompts.conditions import read_conditions
from eyetest.prompts.sent import named_by_what_is_sent, refuse_unsent
from eyetest.records import Choice, Condition, Item, Prompt, Response, Words, letter, shown_order
from eyetest.records.finishes import INSPECT_FINISHES, stored_outcome
from eyetest.scoring import Scorer

try:
    from inspect_ai import Task, task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, ContentImage, ContentText
    from inspect_ai.scorer import SampleScore, Score, Target, accuracy, metric, scorer, stderr
    from inspect_ai.solver import TaskState, generate
except ImportError:
    raise MissingExtraError("tasks for inspect-ai need it: pip install 'eyetest[inspect]'") from None

_READ = ("chosen", "text")
_ROLES = {"user": ChatMessageUser, "assistant": ChatMessageAssistant, "system": ChatMessageSystem}


@task
def benchmark(path: str, condition: str = "image", rules: str = "eyetest") -> Task:
    """A benchmark folder, or any file that eyetest can import, with eyetest's prompts and extraction.

    Args:
        path: The benchmark.
        condition: How questions are asked, as in ``eyetest run``; one condition that generates answers.
        rules: The extraction rules.

    """
    opened, how, *more = open_bench(path), *read_conditions(condition)
    if more or how.method != "generate":
        raise InputError(f"condition: found {short(condition)}, expected one condition that generates answers")
    refuse_unsent(opened, [how])
    images, samples = Images(opened.images), []
    for item in opened:
        sent = named_by_what_is_sent(item, how)
        try:
            prompt = build(item, sent)
        except CannotApply:
            continue
        order = shown_order(item, sent)
        golds = [letter(shown) for shown, at in enumerate(order) if at in item.gold]
        about = {"item": msgspec.to_builtins(item), "condition": msgspec.to_builtins(sent)}
        target = golds if item.choices else list(item.references)
        samples.append(Sample(_messages(prompt, images), target=target, id=item.id, metadata={"eyetest": about}))
    dataset = MemoryDataset(samples, name=opened.manifest.name)
    return Task(dataset, solver=generate(), scorer=extraction(rules), name=opened.manifest.name or "benchmark")


@metric
def unread() -> Any:
    """The share of replies in which no answer was found."""

    def share(scores: list[SampleScore]) -> float:
        kinds = [(score.score.metadata or {}).get("reading") for score in scores]
        return sum(kind not in _READ for kind in kinds) / max(1, len(kinds))

    return share


@scorer(metrics=[accuracy(), stderr(), unread()])
def extraction(rules: str = "eyetest") -> Any:
    """Score replies by eyetest's answer extraction; also those of tasks that were not made by `benchmark`."""
    reader = Scorer(rules)

    async def score(state: TaskState, target: Target) -> Score:
        item, condition = _asked(state, target)
        outcome = stored_outcome("answered", state.output.stop_reason or "", "", INSPECT_FINISHES)
        text = state.output.completion
        found = reader.score(item, condition, Response(request="", outcome=outcome, text=text))
        answer = found.choice if item.choices else text
        about = {"reading": found.reading, "rule": found.rule, "choice": found.choice, "metric": found.metric}
        return Score(value=found.score or 0.0, answer=answer, explanation=found.why or None, metadata=about)

    return score


def _asked(state: TaskState, target: Target) -> tuple[Item, Condition]:
    """The item and condition that `benchmark` put into a sample; of another task, the sample as an item."""
    if about := (state.metadata or {}).get("eyetest"):
        return msgspec.convert(about["item"], Item), msgspec.convert(about["condition"], Condition)
    golds = list(target)
    if len(state.choices):
        listed = ((choice.value, letter(choice.original_position)) for choice in state.choices)
        choices = tuple(Choice(text, correct=name in golds) for text, name in listed)
        return Item(id=str(state.sample_id), question=state.input_text, choices=choices), Condition()
    return Item(id=str(state.sample_id), question=state.input_text, references=tuple(golds)), Condition()


def _messages(prompt: Prompt, images: Images) -> list[Any]:
    made = [_ROLES[message.role](content=_content(message.parts, images)) for message in prompt.messages]
    return [*made, ChatMessageAssistant(content=prompt.prefill)] if prompt.prefill else made


def _content(parts: Sequence[Any], images: Images) -> list[Any]:
    return [
        ContentText(text=part.text)
        if isinstance(part, Words)
        else ContentImage(image=images.data_url(part).strip(b'"').decode("ascii"))
        for part in parts
    ]
