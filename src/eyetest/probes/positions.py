"""Does the gold sit at one letter more often than at others?"""

from collections import Counter
from collections.abc import Iterator

from eyetest.measures.stats.luck import uneven
from eyetest.probes.subject import Subject, by_option_count, too_few
from eyetest.records import Finding, letter
from eyetest.wording import percent


class Positions:
    """The probe: one test for each number of options."""

    name = "positions"
    summary = "Are golds spread evenly over the letters?"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """All tests, or a word that there was nothing to test."""
        tests = list(self._tests(subject))
        yield from tests or [too_few(self.name, subject, "with one number of options")]

    def _tests(self, subject: Subject) -> Iterator[Finding]:
        """A test for each number of options with enough items."""
        for options, items in by_option_count(subject.choice_items).items():
            if len(items) < subject.thresholds.min_items:
                continue
            counted = Counter(item.gold[0] for item in items)
            counts = [counted[position] for position in range(options)]
            oddest = max(range(options), key=lambda position: abs(counts[position] - len(items) / options))
            share, expected = counts[oddest] / len(items), 1 / options
            yield Finding(
                probe=self.name,
                kind=f"gold-position-{options}",
                severity="suspect",
                verdict="fix",
                title=f"The gold is {letter(oddest)} in {percent(share)} of the {len(items):,} items with {options} "
                f"options; {percent(expected)} if spread evenly",
                detail="Answering one letter always, or never, beats luck. `--fix` reorders options to spread golds.",
                p=uneven(counts, subject.rng("positions", options)),
                numbers={"options": options, "positions": counts, "expected": len(items) / options, "n": len(items)},
            )


PROBE = Positions()
