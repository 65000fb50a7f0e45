"""The kinds of findings: which name single items, and which give a rate of the whole benchmark, with the evidence.

A kind names items only if a list of them says something about these items. That is so where the finding is a fact
that can be seen in the item, and where a reader who does not know which items are findings confirms a larger share of
them than of controls: larger by at least `LEAST_EXCESS`, with a 95 % interval of the difference above 0. Other kinds
name none. Most of them are tests of a rule or a learner: these say how often keys can be picked without the image,
and nothing of any single item, since readers pick the keys of most other items as well. The rest are notes about the
audit itself: what it could not read, compare or test. Figures are recounted from docs/gallery/judged.csv and
replicated.csv by tests/probes/test_kinds.py.
"""

from typing import Literal, NamedTuple

from eyetest.records import NO_IMAGES, Finding

LEAST_EXCESS = 0.5  # share of findings less that of controls: with less, most of a list may equal random items

Basis = Literal["fact", "judged", "rate", "about the audit"]
"""Why a kind names items (a fact, judged), or why it does not (a rate, a note about the audit itself)."""


class BlindJudgement(NamedTuple):
    """How many findings and controls a blind reader confirmed, each with their number: ``(35, 36)`` is 35 of 36."""

    findings: tuple[int, int]
    controls: tuple[int, int]


class Replicates(NamedTuple):
    """In how many benchmarks a finding from one half of the items held on the other half."""

    held: int
    benchmarks: int  # that had such a finding


class FindingKind(NamedTuple):
    """A kind of finding of a probe: whether it may name items, and the evidence for that."""

    probe: str
    name: str
    basis: Basis
    judged: BlindJudgement | None = None
    replicates: Replicates | None = None

    @property
    def names_items(self) -> bool:
        """Whether its items are listed, and acted on."""
        return self.basis in ("fact", "judged")


_DEFECTS = {
    "lost-option": None,
    "empty-option": BlindJudgement((1, 1), (0, 1)),
    "lost-gold": BlindJudgement((1, 1), (0, 1)),
    "several-golds": None,
    "one-option": None,
    "more-images-named": None,
    "missing-image": None,
    "unnamed-image": None,
    "no-question": None,
    "letter-without-options": None,
    "reference-not-offered": None,
    "unreadable-image": None,
    "one-colour-image": None,
}
_JUDGED = (
    FindingKind("malformed", "equal-options", "judged", BlindJudgement((35, 36), (0, 36))),
    FindingKind("malformed", "missing-gold", "judged", BlindJudgement((30, 41), (0, 17))),
    FindingKind("malformed", "no-image", "judged", BlindJudgement((5, 5), (0, 5))),
    FindingKind("option-order", "letter-options", "judged", BlindJudgement((19, 20), (0, 20))),
    FindingKind("option-order", "above-not-last", "judged", BlindJudgement((3, 4), (0, 4))),
    FindingKind("duplicate-items", "duplicate-items", "judged", BlindJudgement((23, 23), (0, 23))),
    FindingKind("duplicate-items", "contradicting-golds", "judged", BlindJudgement((2, 2), (0, 2))),
    FindingKind("duplicate-images", "near-identical-images", "judged", BlindJudgement((51, 54), (1, 52))),
)
_FACTS = (
    *(FindingKind("malformed", name, "fact", judged) for name, judged in _DEFECTS.items()),
    FindingKind("option-order", "named-options", "fact"),
    FindingKind("duplicate-images", "identical-images", "fact"),
    FindingKind("duplicate-images", "images-across-splits", "fact"),
    FindingKind("duplicate-images", "repeats-on-copied-images", "fact", BlindJudgement((1, 1), (0, 1))),
)
_RATES = (  # those that name single items were judged, too: readers confirm most controls, too
    FindingKind("frequent-answer", "frequent-answer", "rate", None, Replicates(1, 3)),
    FindingKind("positions", "gold-position", "rate", None, Replicates(3, 6)),
    FindingKind("named-answer", "answer-in-question", "rate", BlindJudgement((7, 7), (7, 7)), Replicates(1, 1)),
    FindingKind("surface-cues", "gold-longest", "rate", None, Replicates(3, 6)),
    FindingKind("surface-cues", "gold-shortest", "rate", None, Replicates(4, 5)),
    FindingKind("surface-cues", "gold-precise", "rate", None, Replicates(1, 1)),
    FindingKind("surface-cues", "gold-case", "rate", None, Replicates(1, 1)),
    FindingKind("surface-cues", "gold-odd-one-out", "rate", None, Replicates(2, 2)),
    FindingKind("surface-cues", "gold-common-words", "rate", None, Replicates(3, 3)),
    FindingKind("surface-cues", "gold-middle", "rate", None, Replicates(2, 3)),
    FindingKind("shortcuts", "surface-shortcut-linear", "rate", None, Replicates(9, 10)),
    FindingKind("shortcuts", "surface-shortcut-trees", "rate", None, Replicates(8, 11)),
    FindingKind("shortcuts", "text-shortcut-linear", "rate", None, Replicates(13, 14)),
    FindingKind("shortcuts", "text-shortcut-trees", "rate", None, Replicates(12, 14)),
    FindingKind("shortcuts", "surface-given-away", "rate", BlindJudgement((54, 58), (41, 57))),
    FindingKind("shortcuts", "text-given-away", "rate", BlindJudgement((69, 78), (51, 74))),
)
_ABOUT_THE_AUDIT = (
    FindingKind("malformed", NO_IMAGES, "about the audit"),
    FindingKind("malformed", "unread-media", "about the audit"),
    FindingKind("duplicate-items", "not-compared", "about the audit"),
    FindingKind("shortcuts", "too-few-to-learn", "about the audit"),
    FindingKind("", "too-few", "about the audit"),  # no probe: any can have too little to test
    FindingKind("", "no-choices", "about the audit"),
)
KINDS = {kind.name: kind for kind in (*_JUDGED, *_FACTS, *_RATES, *_ABOUT_THE_AUDIT)}
"""All kinds by name. Findings of the two families add what they count to the name: ``gold-position-4``."""
_FAMILIES = ("gold-position", "frequent-answer")
WHY_NO_ITEMS = (
    "A test gives a rate of the whole benchmark and names no items: readers pick the key of most other items as well."
)


def kind_of(name: str, probe: str | None = None) -> FindingKind | None:
    """Return the declared kind of that name; None for other names, of a user's own probe.

    ``probe``: the probe that made the finding. A user's own probe may use a declared name, and does not declare it.
    """
    family = next((family for family in _FAMILIES if name.startswith(f"{family}-")), name)
    declared = KINDS.get(family)
    if declared is None or probe is None or declared.probe in ("", probe):
        return declared
    return None


def names_items(finding: Finding) -> bool:
    """Whether a finding's items may be listed and acted on; of a user's own probe, those of all but tests."""
    kind = kind_of(finding.kind, finding.probe)
    return kind.names_items if kind else not finding.is_test


def only_rates(probe: str) -> bool:
    """Whether none of a probe's declared kinds names items; a user's own probe has none declared, and False."""
    declared = [kind for kind in KINDS.values() if kind.probe == probe]
    return bool(declared) and not any(kind.names_items for kind in declared)
