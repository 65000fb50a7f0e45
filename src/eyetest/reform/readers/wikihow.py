"""wikiHow: a file an article (``wikihow.json``), all in one as VGSI and VisualHow have them, or the text corpus."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import Any

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, NoSettings, Reader, name_of
from eyetest.tabular.files import read_rows

_IDS = ("key", "file_id", "id")


class WikiHow(Reader):
    """One record a step that has a picture, with all steps of its method."""

    name = "wikihow"
    summary = "wikiHow articles: {methods: [{name, steps: [{headline, img}]}]}, or {step_list, image_url} by problem"

    def read(self, files: AnnotationFiles, settings: NoSettings) -> Annotations:
        """The steps of all articles."""
        if tables := files.tables(lambda row: {"title", "headline"} <= set(row)):
            return Annotations(lambda: _from_tables(tables))
        expected = 'wikiHow articles, {"methods": [{"name": …, "steps": [{"headline": …, "img": …}]}]}'
        articles = files.entries({"methods"}, expected, beside=False, otherwise=[{"step_list"}])

        def records() -> Iterator[Annotation]:
            times: Counter[Path] = Counter()
            for path, article in articles.by_file():
                times[path] += 1
                number = f"-{times[path]}" if times[path] > 1 else ""
                yield from _steps(name_of(article, _IDS, f"{_folder(path)}{number}"), article)

        return Annotations(records)


def _from_tables(tables: list[Path]) -> Iterator[Annotation]:
    """The corpus without pictures, whose steps are lines of one row or stand on a row each; pictures are missing."""
    rows = (row for path in tables for _, row in read_rows(path))
    for number, ((title, method), several) in enumerate(groupby(rows, key=_heading), 1):
        lines = [line.strip().removesuffix(",") for row in several for line in str(row["headline"]).splitlines()]
        told = filter(None, lines)
        steps = [{"headline": step, "img": f"{number}-{position}"} for position, step in enumerate(told, 1)]
        yield from _pictured(str(number), method or title, steps)


def _heading(row: dict[str, Any]) -> tuple[str, str]:
    return str(row["title"]).strip(), str(row.get("sectionLabel") or "").strip()


def _folder(path: Path) -> str:
    """An article's name: that of its folder where the file is called as in all others."""
    return path.parent.name if path.stem.lower() == "wikihow" else path.stem


def _steps(key: str, article: dict[str, Any]) -> Iterator[Annotation]:
    if "step_list" in article:
        pictures = dict(enumerate(article.get("image_url") or ()))
        steps = [
            {"headline": step, "img": PurePosixPath(str(pictures.get(number) or "")).name}
            for number, step in enumerate(article["step_list"])
        ]
        yield from _pictured(key, article.get("problem_title") or article.get("article_title"), steps)
        return
    for number, method in enumerate(article["methods"], 1):
        steps = [step | {"img": _picture(key, step)} for step in method.get("steps") or ()]
        title = method.get("name") or article.get("title") or article.get("goal")
        yield from _pictured(f"{key}:{number}", title, steps)


def _picture(key: str, step: dict[str, Any]) -> str:
    """Pictures of VGSI are called like their steps, and ``img`` says where they came from."""
    if step.get("step_id") and step.get("img"):
        return f"{step['step_id']}.png"
    return f"{key}/image/{step['img']}" if step.get("img") else ""


def _pictured(key: str, title: Any, steps: list[dict[str, Any]]) -> Iterator[Annotation]:
    told = tuple(str(step["headline"]).strip() for step in steps)
    for number, step in enumerate(steps):
        if step["img"]:
            yield Annotation(
                id=name_of(step, ("step_id",), f"{key}:{number + 1}"),
                images=(step["img"],),
                question=str(title or "").strip(),
                steps=told,
                gold=number,
            )


READER = WikiHow()
