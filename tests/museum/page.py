"""docs/museum.md, from the exhibits: ``python -m tests.museum.page`` writes it anew."""

from tests.conftest import ROOT
from tests.museum.exhibit import Exhibit, by_rules
from tests.museum.readings import READINGS
from tests.museum.scorings import SCORINGS
from tests.museum.variants import VARIANTS

PAGE = ROOT / "docs/museum.md"
RULES_OF = {
    "open-compass/VLMEvalKit": "vlmevalkit",
    "EvolvingLMMs-Lab/lmms-eval": "lmms-eval",
    "MMMU-Benchmark/MMMU": "mmmu",
}
"""Tools whose rules eyetest has, by repository."""
HEAD = """# A museum of scoring bugs

Public threads about answers that evaluation tools read or counted wrongly. Our tests replay each with a small case of
our own that shows the same mechanism: what the tool made of it before the fix (many are fixed, thanks to those who
reported them), and what eyetest does. The page is made from the cases (`python -m tests.museum.page`), and a test
compares the two.

A number is an issue or pull request of the repository. *Its rules here* is what eyetest's [rule set](scoring.md) of
that tool makes of the same reply; often this is not the function with the bug.
"""
TAIL = """
## Where eyetest is wrong

{wrong}

Besides the exhibits, {number} further replies like those of the threads (`tests/museum/variants.py`) were written
with their answers before any was read: {good} are read right, the rest are listed above. Accuracy on real replies is
in [scoring.md](scoring.md).
"""


def cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """A reply as it is, on one line; one with a backtick in it stands between two."""
    line = cell(text.replace("\n", " ⏎ "))
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def reading_row(one: Exhibit) -> str:
    rules = RULES_OF.get(one.repository, "")
    theirs = by_rules(rules, one.case, one.options) if rules else ""
    cells = (cell(one.name), cell(one.mechanism), code(one.case), one.tool(), theirs, f"**{one.eyetest()}**")
    return f"| {' | '.join(cells)} |"


def scoring_row(one: Exhibit) -> str:
    said = f"**{one.eyetest()}**" + (f" ({one.honest})" if one.honest else "")
    return f"| {' | '.join((cell(one.name), cell(one.mechanism), cell(one.case), one.tool(), said))} |"


def fresh() -> dict[str, int]:
    """How many of the further replies are read right."""
    good = sum(by_rules("eyetest", reply, options) == right for reply, right, options in VARIANTS)
    return {"number": len(VARIANTS), "good": good}


def page() -> str:
    right = [one for one in READINGS if one.eyetest() == one.right]
    wrong = [one for one in READINGS if one.eyetest() != one.right]
    lines = [
        HEAD,
        "## Read wrongly\n",
        "| thread | mechanism | reply | the tool read | its rules here | eyetest reads |",
        "|---|---|---|---|---|---|",
        *map(reading_row, right),
        "\n## Counted wrongly\n",
        "| thread | mechanism | case | the tool | eyetest |",
        "|---|---|---|---|---|",
        *map(scoring_row, SCORINGS),
    ]
    faults = [
        f"- {cell(one.name)}: {code(one.case)} says {one.right}; eyetest reads {one.eyetest()}. {one.honest}"
        for one in wrong
    ]
    return "\n".join(lines) + "\n" + TAIL.format(wrong="\n".join(faults), **fresh())


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
