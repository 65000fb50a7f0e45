"""VSR: one line of JSON a caption, ``{image, caption, label, relation}``; the label says whether it is true."""

from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, picture

_LABELS = {"1": "true", "true": "true", "0": "false", "false": "false"}


class Vsr(Reader):
    """One record a caption. It has no name of its own, so it is called by its line."""

    name = "vsr"
    summary = "VSR's JSON Lines: {image, caption, label: 1 or 0, relation}"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The captions of all files."""
        expected = "VSR's JSON Lines, {image: …, caption: …, label: 1 or 0, relation: …}"
        entries = files.entries({"image", "caption", "label"}, expected)
        return Annotations(lambda: (_annotation(name, entry) for name, entry in entries.numbered()))


def _annotation(name: str, entry: dict[str, Any]) -> Annotation:
    relation = str(entry.get("relation") or "").strip()
    tags = {"relation": relation} | ({"frame": entry["reference_frame"]} if entry.get("reference_frame") else {})
    return Annotation(
        id=name,
        images=(picture(entry["image"]),),
        label=_LABELS.get(str(entry["label"]).strip().lower(), ""),
        captions=(str(entry["caption"]).strip(),),
        relation=relation,
        tags=tags,
    )


READER = Vsr()
