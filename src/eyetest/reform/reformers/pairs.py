"""Pictures and captions that belong together one by one: which caption for a picture, which picture for a caption?"""

from collections.abc import Iterator

import msgspec

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.reformers.base import ItemDraft, Kit, Reformer, Shown, draft, listed_choices


class PairsSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is asked of such pairs, in both directions."""

    which_caption: str = "Which sentence describes the picture?"
    which_picture: str = 'Which picture does this sentence describe? "{caption}"'


class Pairs(Reformer):
    """Two items a pair; all items of a record are one group, since they are only together worth something."""

    name = "pairs"
    summary = "pictures with a caption each: which caption for a picture, and which picture for a caption"
    settings = PairsSettings

    def drafts(self, annotations: Annotations, settings: PairsSettings, kit: Kit) -> Iterator[ItemDraft]:
        """Items in both directions."""
        for record in annotations:
            if len(record.images) != len(record.captions) or len(record.captions) < 2:
                kit.passed_over["not as many captions as pictures"] += 1
                continue
            yield from _of_record(record, settings)


def _of_record(record: Annotation, settings: PairsSettings) -> Iterator[ItemDraft]:
    pictures = [Shown(image=image) for image in record.images]
    numbers = [f"<image {number}>" for number in range(1, len(pictures) + 1)]
    group = f"{record.id}:caption-0"
    for position, caption in enumerate(record.captions):
        yield draft(
            record,
            f"caption-{position}",
            pictures=[pictures[position]],
            question=settings.which_caption,
            choices=listed_choices(record.captions, position),
            group=group,
            tags={"direction": "caption of a picture"},
        )
        yield draft(
            record,
            f"picture-{position}",
            pictures=pictures,
            question=settings.which_picture.replace("{caption}", caption),
            choices=listed_choices(numbers, position),
            group=group,
            tags={"direction": "picture of a caption"},
        )


REFORMER = Pairs()
