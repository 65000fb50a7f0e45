"""How often a rule set reads replies right, by kind of reply."""

import json
from collections import Counter
from pathlib import Path

import msgspec

from eyetest.scoring.rules import read_choice


class Accuracy(msgspec.Struct):
    """Right readings and all readings by kind, and the lines that were read wrong."""

    right: Counter[str]
    total: Counter[str]
    wrong: list[str]

    @property
    def overall(self) -> float:
        return self.right.total() / self.total.total()

    def report(self, shown: int = 40) -> str:
        """A table for a failing test."""
        kinds = [f"{kind:12} {self.right[kind]:4} of {count:4}" for kind, count in sorted(self.total.items())]
        return "\n".join([f"{self.overall:.4f}", *kinds, *self.wrong[:shown]])


def measure(path: Path, rules: str = "eyetest") -> Accuracy:
    """Read every reply of a file of labelled replies."""
    accuracy = Accuracy(Counter(), Counter(), [])
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        reading = read_choice(
            row["reply"], row["options"], rules, letters=row.get("letters", row.get("marks", "upper"))
        )
        accuracy.total[row["kind"]] += 1
        kind = "unparsed" if reading.kind == "cut off" else reading.kind  # the labels know four kinds
        if (kind, reading.index) == (row["reading"], row["index"]):
            accuracy.right[row["kind"]] += 1
        else:
            accuracy.wrong.append(
                f"{row['id']}: want {row['reading']} {row['index']}, got {reading.kind} {reading.index} "
                f"by {reading.rule}: {row['reply'][:200]!r}"
            )
    return accuracy
