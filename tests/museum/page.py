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

Public threads about answers that were read or counted wrongly, in tools that people trust. Each is replayed in our
tests with a small case of our own that shows the same mechanism: what the tool made of it before it was mended (many
were, thanks to those who reported them), and what eyetest does. The page is made from the cases
(`python -m tests.museum.page`), and a test compares the two.

A number is an issue or pull request of the repository. *Its rules here* is what the [rule set](scoring.md) that
eyetest has of that tool makes of the same reply, which is its usual one for choices and often not the function with
the bug.
"""
TAIL = """
## Where eyetest is wrong

{wrong}

Besides the exhibits, {number} further replies in the manner of the threads (`tests/museum/variants.py`) were written
down with their answers before any was read: {good} are read right, and what is not stands above. How often eyetest is
right on real replies that nobody wrote for it is in [scoring.md](scoring.md).
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
