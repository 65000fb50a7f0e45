"""Does this caption belong to this picture? Half of the pictures are asked about with their own."""

from collections.abc import Iterator

import msgspec

from eyetest.reform.annotation import Annotations
from eyetest.reform.distractors.captions import CaptionPool
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, draft, listed_choices


class MatchingSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a caption is asked about."""

    question: str = 'Does this sentence describe the picture? "{caption}"'


class Matching(Reformer):
    """One item a picture: its own caption (yes), or one of another picture that says something else (no)."""

    name = "matching"
    summary = "whether a caption describes a picture: yes or no"
    settings = MatchingSettings

    def drafts(self, annotations: Annotations, settings: MatchingSettings, kit: Kit) -> Iterator[ItemDraft]:
        """One item a picture that has captions."""
        pool = CaptionPool(annotations)
        for record in annotations:
            if not record.captions:
                kit.passed_over["no caption"] += 1
                continue
            chance = kit.chance(record.id, "matching")
            fits = chance.random() < 0.5
            captions = [chance.choice(record.captions)] if fits else pool.draw(record, 1, chance)
            if not captions:
                kit.passed_over["no caption that says something else"] += 1
                continue
            yield draft(
                record,
                question=settings.question.replace("{caption}", captions[0]),
                choices=listed_choices(("yes", "no"), 0 if fits else 1),
                tags={"caption": "own" if fits else "other picture"},
            )


REFORMER = Matching()
