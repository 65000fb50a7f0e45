"""Suspect golds: models vote against them, or none answers; then a judge sees image, question and golden answer
(LIME) and says YES if it is right; of captions, if every one fits.
"""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

import numpy as np

from eyetest.errors import InputError, percent
from eyetest.filters import Filter, FilterInput
from eyetest.filters.hits import count, stopping_rule
from eyetest.measures.hits import HIT
from eyetest.measures.results import CAPTION_METRICS
from eyetest.measures.stats.consensus import Suspicion, most_chosen, recurring, suspicion
from eyetest.prompts.building import label_within
from eyetest.prompts.sets import Wording
from eyetest.records import (
    ImagePart,
    Item,
    Message,
    Prompt,
    Response,
    Stage,
    StoppingRule,
    Verdict,
    Words,
    letter,
)

_LAST_LINE = re.compile(r"(?:^|\n)[^\w\n]{0,40}(?:answer\W{1,40})?(yes|no)\W{0,40}$", re.IGNORECASE)
_WORD = re.compile(r"\b(YES|NO)\b")


def _gold_rule(stage: Stage, seats: int, size: int, tests: int) -> None:
    """No stopping rule: every answer is evidence."""
    if set(stage.keep) != {"sound"}:
        raise InputError(f"the stage {stage.title}: keep has to say sound: from which probability on an item is kept")


def _judge_golds(case: FilterInput) -> Iterator[Verdict]:
    """Send items to review whose gold seems moved by the panel's choices."""
    suspects = [item for item in case.items if item.gold and len(item.choices) > 1]
    votes = {item.id: _votes(case, item) for item in suspects}
    weighed = suspicion(
        np.array(list(votes.values()) or np.empty((0, 1)), np.int64),
        np.array([len(item.choices) for item in suspects], np.int64),
        np.array([item.gold[0] for item in suspects], np.int64),
        recurring([choice.text for choice in item.choices] for item in suspects),
        case.stage.people,
    )
    positions = {item.id: position for position, item in enumerate(suspects)}
    cut = case.stage.keep["sound"]  # without odds it cannot be applied, and every item is kept
    keeps = [math.isnan(flawed) or cut.holds(1 - flawed) for flawed in weighed.flawed.tolist()]
    doubted = weighed.flawed[~np.array(keeps, bool)]
    worth = {"doubted": len(doubted), "wrong of these, by these odds": _rounded(doubted.sum(), 1)}
    worth |= {"independent models": round(weighed.independent, 1), "share of wrong golds": _rounded(weighed.share, 4)}
    worth |= {"from": _rounded(weighed.low, 4), "to": _rounded(weighed.high, 4)}
    ranks = np.empty(len(suspects), np.int64)
    ranks[np.argsort(-weighed.ratios, kind="stable")] = np.arange(1, len(suspects) + 1)
    for item in case.items:
        if item.id not in positions:
            yield case.verdict(item.id, "keep", "not a choice with a gold")
            continue
        at = positions[item.id]
        evidence = {"flawed": _rounded(weighed.flawed[at], 3), "log ratio": _rounded(weighed.ratios[at], 2)}
        evidence["rank"] = int(ranks[at])
        found = {
            "n": sum(option >= 0 for option in votes[item.id]),
            "responses": tuple(answer.request for row in case.evidence.of(item.id) for answer in row if answer),
            "evidence": evidence | worth,
        }
        verdict = "keep" if keeps[at] else case.stage.then or "review"
        yield case.verdict(item.id, verdict, _reason(item, weighed, at), **found)


def _rounded(value: float, digits: int) -> float | None:
    return round(float(value), digits) if math.isfinite(value) else None


def _reason(item: Item, weighed: Suspicion, at: int) -> str:
    """The rival and how likely the gold is wrong, or why there are no odds."""
    gold, rival = letter(item.gold[0]), letter(int(weighed.rivals[at]))
    ratio, flawed = f"log ratio {weighed.ratios[at]:+.1f}", weighed.flawed[at]
    if math.isnan(flawed):
        reason = weighed.why_no_odds or "too few models answered it"
        return f"{rival} instead of {gold}? {ratio}; no odds, since {reason}"
    return f"{rival} instead of {gold}? wrong gold {percent(flawed)}, {ratio}"


def _votes(case: FilterInput, item: Item) -> list[int]:
    """The option that each seat chose most (a seat has one vote); −1 where none was read or two lead."""
    rows = [
        [ord(answer.choice) - ord("A") for answer in row if answer and answer.choice]
        for row in case.evidence.of(item.id)
    ]
    votes = [most_chosen(item.gold[0] if option in item.gold else option for option in row) for row in rows]
    return [-1 if option is None else option for option in votes]


def _zero_rule(stage: Stage, seats: int, size: int, tests: int) -> StoppingRule:
    """Stop at the first hit."""
    return stopping_rule(stage, HIT, seats, tests)


def _judge_zero_pass(case: FilterInput) -> Iterator[Verdict]:
    """Items without a hit go to a judge; what it rejects is dropped, what it confirms goes to review."""
    rule = _zero_rule(case.stage, len(case.seats), case.size, case.evidence.tests)
    counts = {item.id: count(case, rule, item, full=case.stage.full_counts) for item in case.items}
    missed = [item for item in case.items if counts[item.id].holds is False]
    judgements = dict(zip((item.id for item in missed), _asked(case, missed), strict=True))
    for item in case.items:
        counted, fields = counts[item.id], counts[item.id].fields
        if counted.holds:
            yield case.verdict(item.id, "keep", "some model answers it", **fields)
            continue
        if counted.holds is None:
            yield case.verdict(item.id, "review", counted.incomplete, **fields)
            continue
        judgement = judgements[item.id]
        fits = None if judgement is None else says_yes(judgement.text or "")
        if judgement is not None:
            fields |= {"responses": (*fields["responses"], judgement.request)}
        verdict = case.stage.then or "drop" if fits is False else "review"
        yield case.verdict(item.id, verdict, _JUDGED[fits], **fields)


_JUDGED = {
    True: "no model answers it; the judge confirms its answer key",
    False: "no model answers it, and the judge rejects its answer key",
    None: "no model answers it, and the judge gave neither YES nor NO",
}


def _asked(case: FilterInput, items: Sequence[Item]) -> Iterable[Response | None]:
    if case.ask is None or not case.judges or not items:
        return [None] * len(items)
    prompts = []
    for item in items:
        metrics = [answer.metric for row in case.evidence.of(item.id) for answer in row if answer is not None]
        captions = bool(metrics) and metrics[0].startswith(CAPTION_METRICS)
        prompts.append((item, judge_prompt(item, case.prompts.of(item), captions=captions)))
    return case.ask(case.judges[0], prompts)


def says_yes(text: str) -> bool | None:
    """A judge's verdict: its last line if that is yes or no, else its last YES or NO in capitals; or neither."""
    last = _LAST_LINE.search(text)
    words = [last[1].upper()] if last else _WORD.findall(text)
    return words[-1] == "YES" if words else None


def judge_prompt(item: Item, wording: Wording, *, captions: bool = False) -> Prompt:
    """The prompt of a judge."""
    images = tuple(ImagePart(image) for image in item.images)
    labelled = partial(label_within, images=len(images))
    texts = [f"{letter(i)}. {item.choices[i].text}" for i in item.gold] or list(item.references)
    golds = "\n".join(f"- {labelled(text)}" for text in texts)
    options = "\n".join(f"{letter(i)}. {labelled(choice.text)}" for i, choice in enumerate(item.choices))
    role = "caption_judge" if captions else "gold_judge"
    task = wording.role(role, question=labelled(item.question), options=options, answer=golds)
    return Prompt((Message("user", (*images, Words(task))),))


FILTERS = (
    Filter(
        "wrong-gold",
        "send items to people whose gold the panel's answers speak against",
        frozenset({"keep", "then", "people"}),
        _judge_golds,
        _gold_rule,
        learns=True,
    ),
    Filter(
        "zero-pass",
        "have a judge model check items that no model answers; drop those it rejects, review the rest (LIME)",
        frozenset({"judge", "right", "answers", "then"}),
        _judge_zero_pass,
        _zero_rule,
    ),
)
