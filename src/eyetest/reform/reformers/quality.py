"""What is wrong with a picture: blurred, dark, cut off … as several people saw it."""

from collections import Counter
from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, listed_choices, shuffled

_FINE = "NON"
_FLAWS = {
    "BLR": ("It is blurred", "Is this picture blurred?"),
    "BRT": ("It is too bright", "Is this picture too bright?"),
    "DRK": ("It is too dark", "Is this picture too dark?"),
    "FRM": (
        "What matters is cut off or hardly in view",
        "Is what matters in this picture cut off or hardly in view?",
    ),
    "OBS": (
        "Something in front, such as a finger, hides part of it",
        "Does something in front hide part of the view?",
    ),
    "ROT": ("It is turned and has to be rotated", "Is this picture turned, so that it has to be rotated?"),
    _FINE: ("Nothing: its quality is fine", ""),
}
"""How each code of VizWiz-QualityIssues is offered as an option and asked about."""


class QualitySettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked, and how many people have to agree."""

    ask: Literal["flaw", "yes-no"] = "flaw"
    question: str = "What is wrong with the quality of this picture?"
    options: Annotated[int, msgspec.Meta(ge=2, le=len(_FLAWS))] = 4
    agree: Annotated[int, msgspec.Meta(ge=1)] = 2
    """A flaw counts if so many people saw it; it can be denied only where nobody did."""


class Quality(Reformer):
    """One item a picture whose flaws people agree on."""

    name = "quality"
    summary = "which flaw a picture has (ask: flaw), or whether it has a certain one (ask: yes-no)"
    settings = QualitySettings

    def drafts(self, annotations: Annotations, settings: QualitySettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a picture."""
        for record in annotations:
            votes = Counter(record.answers)
            make = _which if settings.ask == "flaw" else _whether
            if not votes:
                kit.passed_over["no answer"] += 1
            elif item := make(record, votes, settings, kit):
                yield item
            else:
                kit.passed_over["people do not agree"] += 1


def _which(record: Annotation, votes: Counter[str], settings: QualitySettings, kit: Kit) -> ItemDraft | None:
    """The flaw that most people saw, among flaws that nobody did."""
    (code, most), *others = votes.most_common()
    unseen = [other for other in _FLAWS if not votes[other]]
    if code not in _FLAWS or most < settings.agree or (others and others[0][1] == most) or not unseen:
        return None
    chance = kit.chance(record.id, "flaw")
    drawn = chance.sample(unseen, min(settings.options - 1, len(unseen)))
    return draft(
        record,
        question=settings.question,
        choices=shuffled(_FLAWS[code][0], [(_FLAWS[other][0], "flaw that nobody saw") for other in drawn], chance),
        tags={"flaw": code, "votes": most},
    )


def _whether(record: Annotation, votes: Counter[str], settings: QualitySettings, kit: Kit) -> ItemDraft | None:
    """A flaw that people saw, or one that nobody did; either as likely where both can be asked."""
    flaws = [code for code in _FLAWS if code != _FINE]
    seen = [code for code in flaws if votes[code] >= settings.agree]
    unseen = [code for code in flaws if not votes[code]]
    chance = kit.chance(record.id, "yes-no")
    asked = [codes for codes in (seen, unseen) if codes]
    if not asked:
        return None
    code = chance.choice(chance.choice(asked))
    return draft(
        record,
        question=_FLAWS[code][1],
        choices=listed_choices(("yes", "no"), 0 if code in seen else 1),
        tags={"flaw": code, "votes": votes[code]},
    )


REFORMER = Quality()
