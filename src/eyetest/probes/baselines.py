"""What a guesser gets: at random, by the most frequent letter, by the most frequent answer."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from eyetest.measures.stats.luck import guessing, uneven
from eyetest.probes.subject import Subject, by_tags, no_choices
from eyetest.probes.words import normalise
from eyetest.records import Finding, Item, letter
from eyetest.wording import percent

_RECURRING_SETS = 5


class Baselines:
    """The probe."""

    name = "baselines"
    summary = "What does guessing score?"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """The baselines as a note, and a test of each set of options that recurs."""
        items = subject.choice_items
        if not items:
            yield no_choices(self.name, subject)
            return
        overall = baseline(items)
        by_tag = {
            tag: {value: baseline(group) for value, group in groups.items()} for tag, groups in by_tags(items).items()
        }
        yield Finding(
            probe=self.name,
            kind="guessing",
            severity="note",
            title=f"Guessing scores {percent(overall['random'])}; always answering {overall['letter']} scores "
            f"{percent(overall['frequent'])}",
            detail="A score means what it is above these. By tag they are in the JSON.",
            numbers={"overall": overall, "by_tag": by_tag},
        )
        yield from self._recurring(subject, items)

    def _recurring(self, subject: Subject, items: Sequence[Item]) -> Iterator[Finding]:
        sets: dict[tuple[str, ...], list[Item]] = {}
        for item in items:
            sets.setdefault(tuple(sorted(normalise(choice.text) for choice in item.choices)), []).append(item)
        large = sorted(sets.items(), key=lambda pair: -len(pair[1]))[:_RECURRING_SETS]
        for options, group in large:
            if len(group) < subject.thresholds.min_items or len(set(options)) < len(options):
                continue
            counted = Counter(normalise(item.choices[item.gold[0]].text) for item in group)
            counts = [counted[option] for option in options]
            top = max(options, key=lambda option: counted[option])
            yield Finding(
                probe=self.name,
                kind=f"frequent-answer-{'-'.join(options)[:40]}",
                severity="suspect",
                title=f'"{top}" is right in {percent(counted[top] / len(group))} of {len(group):,} items with '
                f"the same {len(options)} options",
                detail=f"The options are {', '.join(options)}; evenly spread, each would be right in "
                f"{percent(1 / len(options))}.",
                p=uneven(counts, subject.rng("recurring", *options)),
                numbers={"options": list(options), "positions": counts, "expected": len(group) / len(options)},
            )


def baseline(items: Sequence[Item]) -> dict[str, Any]:
    """Random choice, and the most frequent gold letter."""
    guess = guessing([len(item.choices) for item in items], [item.gold[0] for item in items])
    assert guess is not None
    return {"n": guess.n, "random": guess.random, "frequent": guess.frequent, "letter": letter(guess.position)}


PROBE = Baselines()
