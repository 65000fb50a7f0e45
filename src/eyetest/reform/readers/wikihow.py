"""wikiHow: ``<article>/wikihow.json`` with methods and steps, VisualHow's JSON by problem, or the text corpus."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader
from eyetest.tabular.files import read_rows


class WikiHow(Reader):
    """One record a step that has a picture, with all steps of its method."""

    name = "wikihow"
    summary = "wikiHow articles: {methods: [{name, steps: [{headline, img}]}]}, or {step_list, image_url} by problem"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The steps of all articles."""
        documents = list(files.documents(lambda document: bool(_articles(document)), beside=False))
        tables = [] if documents else files.tables(lambda row: {"title", "headline"} <= set(row))
        if tables:
            return Annotations(lambda: _from_tables(tables))
        if not documents:
            raise files.unlike('wikiHow articles, {"methods": [{"name": …, "steps": [{"headline": …, "img": …}]}]}')

        def records() -> Iterator[Annotation]:
            for path, document in documents:
                for key, article in _articles(document).items():
                    yield from _steps(key or _folder(path), article)

        return Annotations(records)


def _from_tables(tables: list[Path]) -> Iterator[Annotation]:
    """The corpus without pictures, whose steps are lines of one row or stand on a row each; pictures are missing."""
    rows = (row for path in tables for _, row in read_rows(path))
    for number, ((title, method), several) in enumerate(groupby(rows, key=_heading), 1):
        steps = [line.strip().removesuffix(",") for row in several for line in str(row["headline"]).splitlines()]
        steps = [step for step in steps if step]
        pictures = [f"{number}-{step}" for step in range(1, len(steps) + 1)]
        yield from _pictured(str(number), method or title, steps, pictures)


def _heading(row: dict[str, Any]) -> tuple[str, str]:
    return str(row["title"]).strip(), str(row.get("sectionLabel") or "").strip()


def _folder(path: Path) -> str:
    """An article's name: that of its folder where the file is called as in all others."""
    return path.parent.name if path.stem.lower() == "wikihow" else path.stem


def _articles(document: Any) -> dict[str, dict[str, Any]]:
    """The articles of a file by name, the only one without; none where it is another kind of file."""
    if isinstance(document, list):
        entries = {str(entry.get("id", n)): entry for n, entry in enumerate(document) if isinstance(entry, dict)}
    elif isinstance(document, dict):
        entries = {"": document} if _is_article(document) else document
    else:
        return {}
    articles = {str(key): entry for key, entry in entries.items() if isinstance(entry, dict) and _is_article(entry)}
    return articles if len(articles) == len(entries) else {}


def _is_article(entry: dict[str, Any]) -> bool:
    return isinstance(entry.get("methods"), list) or isinstance(entry.get("step_list"), list)


def _steps(key: str, article: dict[str, Any]) -> Iterator[Annotation]:
    if "step_list" in article:
        pictures = [PurePosixPath(str(url)).name if url else "" for url in article.get("image_url") or ()]
        title = article.get("problem_title") or article.get("article_title") or ""
        yield from _pictured(key, title, article["step_list"], pictures)
        return
    for number, method in enumerate(article["methods"], 1):
        steps = method.get("steps") or []
        pictures = [f"{key}/image/{step['img']}" if step.get("img") else "" for step in steps]
        title = method.get("name") or article.get("title") or ""
        yield from _pictured(f"{key}:{number}", title, [step["headline"] for step in steps], pictures)


def _pictured(key: str, title: str, steps: list[str], pictures: list[str]) -> Iterator[Annotation]:
    told = tuple(str(step).strip() for step in steps)
    for number, (image, _) in enumerate(zip(pictures, told, strict=False)):
        if image:
            yield Annotation(
                id=f"{key}:{number + 1}", images=(image,), question=title.strip(), steps=told, gold=number
            )


READER = WikiHow()
