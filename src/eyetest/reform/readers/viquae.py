"""ViQuAE: questions about people and places in pictures, in KILT's form; an encyclopaedia may lie beside them."""

from typing import Any

import msgspec

from eyetest.reform.annotation import Annotation, Annotations
from eyetest.reform.readers.base import AnnotationFiles, Reader, picture, texts

_LONGEST_HINT = 600


class ViQuaeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is told beside the question."""

    knowledge: bool = False
    """Whether the article about what the picture shows is told: viquae_wikipedia beside the questions, or a field."""


class ViQuae(Reader):
    """One record a question."""

    name = "viquae"
    summary = "ViQuAE's JSON Lines: {id, input, image, output: {original_answer, answer}, wikidata_id}"
    settings = ViQuaeSettings

    def read(self, files: AnnotationFiles, settings: ViQuaeSettings) -> Annotations:
        """The questions; with ``knowledge`` those about which an article says something have it as a hint."""
        expected = "ViQuAE's JSON Lines with input, image and output"
        entries = files.entries({"input", "output", "image"}, expected)
        articles: dict[str, str] = {}
        if settings.knowledge:
            wanted = frozenset({"text", "wikidata_info"})
            for path in (*files.files, *files.beside):
                if path in entries.paths:
                    continue
                for article in files.objects(path, wanted):
                    if wanted <= set(article):
                        articles[str(article["wikidata_info"].get("wikidata_id"))] = _passage(article["text"])
        return Annotations(lambda: (_annotation(entry, articles, settings) for entry in entries))


def _annotation(entry: dict[str, Any], articles: dict[str, str], settings: ViQuaeSettings) -> Annotation:
    output = entry["output"]
    first = output[0] if isinstance(output, list) and output else output
    gold = texts(first.get("original_answer"))
    answers = tuple(dict.fromkeys((*gold, *texts(first.get("answer")))))
    own = texts(entry.get("knowledge") or entry.get("passage") or entry.get("context"))
    told = own[0] if own else articles.get(str(entry.get("wikidata_id")), "")
    return Annotation(
        id=str(entry["id"]),
        images=(picture(entry["image"]),),
        question=str(entry["input"]).strip(),
        hint=_shortened(told) if settings.knowledge else "",
        answers=answers,
        label=gold[0] if gold else "",
    )


def _passage(text: Any) -> str:
    """An article's first paragraph that is more than its title."""
    paragraphs = texts(text.get("paragraph") if isinstance(text, dict) else text)
    return next((paragraph for paragraph in paragraphs if len(paragraph.split()) > 8), "")


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_HINT else f"{text[:_LONGEST_HINT].rpartition(' ')[0]} …"


READER = ViQuae()
