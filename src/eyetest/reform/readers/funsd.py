"""FUNSD: one JSON file a scanned form, ``{"form": [{id, text, label, linking}]}``."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader

_SPLITS = {"training_data": "train", "testing_data": "test"}


class Funsd(Reader):
    """One record a key of a form; its answer is all that the key is linked to, in the order of the links."""

    name = "funsd"
    summary = 'FUNSD\'s JSON, one file a form: {"form": [{id, text, label, linking: [[key, value], …]}]}'

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The keys of all forms."""
        forms = list(files.documents(_is_form))
        if not forms:
            raise files.unlike('FUNSD\'s JSON, one file a form: {"form": [{"id": …, "text": …, "linking": …}]}')
        return Annotations(lambda: (record for path, form in forms for record in _annotations(path, form["form"])))


def _annotations(path: Path, form: list[dict[str, Any]]) -> Iterator[Annotation]:
    texts = {block["id"]: str(block.get("text") or "") for block in form}
    values = {block["id"] for block in form if block.get("label") == "answer"}
    keys = [block for block in form if block.get("label") == "question"]
    times = Counter(texts[key["id"]].strip() for key in keys)
    split = next((_SPLITS[part] for part in reversed(path.parts) if part in _SPLITS), "")
    for key in keys:
        linked = dict.fromkeys(one for pair in key.get("linking") or () for one in pair if one in values)
        answer = " ".join(texts[one] for one in linked if texts[one]).strip()
        question = texts[key["id"]].strip()
        yield Annotation(
            id=f"{path.stem}:{key['id']}",
            images=(f"{path.stem}.png",),
            question=question,
            answers=(answer,) if answer else (),
            tags=({"split": split} if split else {})
            | ({"same_keys": times[question]} if times[question] > 1 else {}),
        )


def _is_form(document: Any) -> bool:
    blocks = document.get("form") if isinstance(document, dict) else None
    return isinstance(blocks, list) and all(isinstance(block, dict) and "id" in block for block in blocks)


READER = Funsd()
