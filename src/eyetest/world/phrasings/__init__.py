"""How questions are worded, as data: files of phrasings, and what reads them."""

from functools import cache
from importlib import resources
from typing import Any

from eyetest.store.handwritten import parse_yaml

_OTHERS = ("words", "leads", "facts")


@cache
def words() -> dict[str, list[str]]:
    """Names, towns, days and whatever else fills a circumstance."""
    found: dict[str, list[str]] = read("words")
    return found


@cache
def leads() -> dict[str, list[str]]:
    """How questions begin, and what flawed ones say too much."""
    found: dict[str, list[str]] = read("leads")
    return found


@cache
def phrasings() -> dict[str, list[str]]:
    """The phrasings of every kind of question, those of facts among them."""
    found: dict[str, list[str]] = {}
    for file in sorted(resources.files(__name__).iterdir(), key=lambda file: file.name):
        name = file.name.removesuffix(".yaml")
        if file.name.endswith(".yaml") and name not in _OTHERS:
            found |= read(name)
    facts = read("facts")
    for name, one in facts["properties"].items():
        found[f"fact-{name}"] = [frame.replace("{ask}", one["ask"]) for frame in facts["frames"]]
    return found


@cache
def read(name: str) -> dict[str, Any]:
    """One of the files."""
    text = (resources.files(__name__) / f"{name}.yaml").read_text(encoding="utf-8")
    found: dict[str, Any] = parse_yaml(text, name)
    return found
