"""Winoground: two pictures and two captions of the same words, ``examples.jsonl`` or the table of the hub."""

from collections.abc import Iterator

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, name_of, picture

_KEYS = ("caption_0", "caption_1")
_TAGS = ("tag", "secondary_tag", "collapsed_tag", "num_main_preds")


class Winoground(Reader):
    """One record an example; the first caption is of the first picture, the second of the second."""

    name = "winoground"
    summary = "Winoground's examples: id, image_0, image_1, caption_0, caption_1, tags"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """All examples."""
        entries = files.entries(_KEYS, f"Winoground's examples with {', '.join(_KEYS)}")

        def records() -> Iterator[Annotation]:
            for number, entry in enumerate(entries):
                name = name_of(entry, ("id",), str(number))
                yield Annotation(
                    id=name,
                    images=tuple(picture(entry.get(f"image_{n}") or f"ex_{name}_img_{n}") for n in (0, 1)),
                    captions=(entry["caption_0"].strip(), entry["caption_1"].strip()),
                    tags={tag: entry[tag] for tag in _TAGS if entry.get(tag) not in (None, "")},
                )

        return Annotations(records)


READER = Winoground()
