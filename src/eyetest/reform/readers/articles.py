"""Longer texts with images: wikiHow's instructions step by step, and MOCHEG's claims with evidence."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Annotated, Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations, FileSettings
from eyetest.reform.readers.base import AnnotationFiles, first_of, name_of, reads
from eyetest.tabular.table import Values

_CLAIM, _LABEL = "Claim", "cleaned_truthfulness"
_EVIDENCE_IMAGES = "DOCUMENT#|evidence_id"


@reads(
    "wikihow", "wikiHow articles: {methods: [{name, steps: [{headline, img}]}]}, or {step_list, image_url} by problem"
)
def _read_wikihow(files: AnnotationFiles, settings: FileSettings) -> Annotations:
    """One record per step that has an image, with all steps of its method."""
    expected = 'wikiHow articles, {"methods": [{"name": …, "steps": [{"headline": …, "img": …}]}]}'
    articles = files.entries(("methods|step_list",), expected, beside=False)

    def records() -> Iterator[Annotation]:
        for path, number, article in articles.by_file():
            # A file that is called as in all other folders takes its folder's name.
            name = path.parent.name if path.stem.lower() == "wikihow" else path.stem
            key = name_of(article, "key|file_id|id", f"{name}-{number}" if number > 1 else name)
            yield from _steps(key, article)

    return Annotations(records)


def _steps(key: str, article: Values) -> Iterator[Annotation]:
    if "step_list" in article:
        images = dict(enumerate(article.get("image_url") or ()))
        steps = [
            {"headline": step, "img": PurePosixPath(str(images.get(number) or "")).name}
            for number, step in enumerate(article["step_list"])
        ]
        yield from _imaged(key, first_of(article, "problem_title|article_title"), steps)
        return
    for number, method in enumerate(article["methods"], 1):
        steps = [step | {"img": _image(key, step)} for step in method.get("steps") or ()]
        yield from _imaged(f"{key}:{number}", method.get("name") or first_of(article, "title|goal"), steps)


def _image(key: str, step: Values) -> str:
    """Images of VGSI are named like their steps; ``img`` gives their origin."""
    if step.get("step_id") and step.get("img"):
        return f"{step['step_id']}.png"
    return f"{key}/image/{step['img']}" if step.get("img") else ""


def _imaged(key: str, title: Any, steps: list[Values]) -> Iterator[Annotation]:
    headlines = tuple(str(step["headline"]).strip() for step in steps)
    for number, step in enumerate(steps):
        if step["img"]:
            yield Annotation(
                id=name_of(step, "step_id", f"{key}:{number + 1}"),
                images=(step["img"],),
                question=str(title or "").strip(),
                steps=headlines,
                gold=number,
            )


class MochegSettings(FileSettings, frozen=True):
    """Amount of evidence with a claim."""

    paragraphs: Annotated[int, msgspec.Meta(ge=0)] = 3  # of the evidence in words, from the first on
    images: Annotated[int, msgspec.Meta(ge=1)] = 1


@reads(
    "mocheg",
    "MOCHEG's Corpus2.csv (claim_id, Claim, Evidence, cleaned_truthfulness) and img_evidence_qrels.csv",
    MochegSettings,
)
def _read_mocheg(files: AnnotationFiles, settings: MochegSettings) -> Annotations:
    """One record per claim; the file has a row for each paragraph of its evidence."""
    expected = f"MOCHEG's Corpus2.csv with columns claim_id, {_CLAIM}, {_LABEL}"
    claims: dict[str, list[Values]] = {}
    for row in files.entries(("claim_id", _CLAIM, _LABEL), expected):
        claims.setdefault(str(row["claim_id"]), []).append(row)
    relevant = _evidence_images(files)

    def records() -> Iterator[Annotation]:
        for key, rows in claims.items():
            evidence = dict.fromkeys(str(row.get("Evidence") or "").strip() for row in rows)
            yield Annotation(
                id=key,
                images=tuple(relevant.get(key, [f"{key}-proof"])[: settings.images]),
                question=str(rows[0][_CLAIM]).strip(),
                hint="\n".join(list(filter(None, evidence))[: settings.paragraphs]),
                label=str(rows[0][_LABEL] or ""),
            )

    return Annotations(records)


def _evidence_images(files: AnnotationFiles) -> dict[str, list[str]]:
    """Images by claim; the lists of relevant text look alike, but their documents are no image files."""
    images: dict[str, list[str]] = {}
    for row in files.find_entries(("TOPIC", "RELEVANCY", _EVIDENCE_IMAGES)) or ():
        names = (str(row.get(key) or "") for key in _EVIDENCE_IMAGES.split("|"))
        name = next((name for name in names if Path(name).suffix), "")
        known = images.setdefault(str(row["TOPIC"]), [])
        if str(row["RELEVANCY"]) == "1" and name and name not in known:
            known.append(name)
    return {claim: names for claim, names in images.items() if names}


READER = (_read_wikihow, _read_mocheg)
