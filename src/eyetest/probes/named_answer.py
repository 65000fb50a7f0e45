"""Does the question name its own answer?"""

from collections.abc import Iterator

from eyetest.measures.stats.luck import as_odd
from eyetest.probes.subject import Subject, no_choices
from eyetest.probes.words import quantity, words
from eyetest.records import Finding, Item
from eyetest.scoring.metrics.support.texts import holds_phrase
from eyetest.wording import percent


class NamedAnswer:
    """The probe: golds that stand in the question while no other option does."""

    name = "named-answer"
    summary = "Does the question name its own answer?"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """The items, and a test of whether the named option is the gold more often than luck makes it."""
        if not subject.choice_items:
            yield no_choices(self.name, subject)
            return
        shortest = subject.thresholds.text.shortest_answer
        named = [
            (item, only) for item in subject.choice_items if (only := only_named_option(item, shortest)) is not None
        ]
        golds = [item for item, only in named if item.gold[0] == only]
        if not named:
            title = "No question names just one of its options"
            yield Finding(probe=self.name, kind="answer-in-question", severity="sound", title=title)
            return
        others = [item for item, only in named if item.gold[0] != only]
        by_luck = sum(1 / (len(item.choices) - 1) for item in others)
        chances = [1 / len(item.choices) for item, _ in named]
        avoids = len(golds) < sum(chances)
        evidence = {item.id: f'the question says "{item.choices[item.gold[0]].text}"' for item in golds}
        yield Finding(
            probe=self.name,
            kind="answer-in-question",
            severity="suspect",
            verdict="review",
            title=f"Of {len(named):,} questions that name just one option, that is the gold in only "
            f"{percent(len(golds) / len(named))}; {percent(sum(chances) / len(named))} by luck"
            if avoids
            else f"{len(golds):,} times the question names its answer and no other option; {by_luck:.0f} by luck",
            detail=f"Where a question names exactly one option, it is the gold in {percent(len(golds) / len(named))} "
            "of cases. What luck does is estimated from questions that name one wrong option.",
            items=() if avoids else tuple(evidence),
            evidence={} if avoids else evidence,
            p=as_odd(len(golds), chances),
            numbers={"named": len(named), "gold": len(golds), "by_luck": by_luck},
        )


def only_named_option(item: Item, shortest: int) -> int | None:
    """The one option that the question (or hint) names word for word; None if there is none or more than one."""
    return only_option_in(f"{item.question} {item.hint}", item, shortest)


def only_option_in(text: str, item: Item, shortest: int) -> int | None:
    """The one option that a text holds word for word; None if there is none or more than one."""
    said = words(text)
    named = [
        i for i, choice in enumerate(item.choices) if is_telling(choice.text, shortest)
        and holds_phrase(said, words(choice.text))
    ]  # fmt: skip
    return named[0] if len(named) == 1 else None


def is_telling(option: str, shortest: int) -> bool:
    """Whether finding an option in a text says anything: letters and numbers stand everywhere."""
    return len(option.strip()) >= shortest and quantity(option) is None


PROBE = NamedAnswer()
