"""Random items, as odd as real ones."""

import io
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from hypothesis import strategies as st
from PIL import Image

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.records import Choice, Item, Lineage, Manifest, OptionProvenance, Turn

_odd = st.sampled_from(
    ["None", "NA", "nan", "['a', 'b']", "[1]", "A", "<image 1>", "=1+1", "\ufeffx", "a\r\nb", '"', "\t"]
)
words = st.one_of(_odd, st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
full_words = words.filter(lambda text: bool(text.strip()))
_names = st.one_of(
    st.sampled_from(
        ["category", "l2-category", "split", "options", "A", "answer_letter", "tags", "image_1", "query"]
    ),
    full_words,
)
_scalars = st.one_of(
    words, st.integers(-(2**53), 2**53), st.booleans(), st.floats(allow_nan=False, allow_infinity=False)
)
_provenance = st.one_of(
    st.just(msgspec.UNSET),
    st.just(msgspec.UNSET),
    st.builds(OptionProvenance, author=full_words, checked_by=st.just(("x",))),
)
_values = st.one_of(_scalars, st.lists(words, max_size=3), st.dictionaries(words, _scalars, max_size=2))


@cache
def image_file(number: int) -> bytes:
    """One of a few different images in different formats."""
    data = io.BytesIO()
    kind = ("PNG", "JPEG", "WEBP", "BMP")[number % 4]
    Image.new("RGB", (9 + number, 7), (number * 40 % 256, 90, 160)).save(data, kind)
    return data.getvalue()


@st.composite
def drafts(draw: st.DrawFn, options: st.SearchStrategy[str]) -> tuple[dict[str, Any], list[int]]:
    """An item's fields but for its id and images, and the numbers of its images."""
    fields: dict[str, Any] = {
        "question": draw(full_words),
        "hint": draw(words),
        "description": draw(words),
        "group": draw(words),
        "tags": draw(st.dictionaries(_names, _values, max_size=3)),
        "history": tuple(Turn(*turn) for turn in draw(st.lists(st.tuples(words, words), max_size=2))),
        "lineage": tuple(Lineage(step=step, seed=3) for step in draw(st.lists(words, max_size=1))),
    }
    if draw(st.booleans()):
        texts = draw(st.lists(options, min_size=1, max_size=6))
        gold = draw(st.sets(st.integers(0, len(texts) - 1), min_size=1, max_size=2))
        said = draw(st.lists(_provenance, min_size=len(texts), max_size=len(texts)))
        fields["choices"] = tuple(Choice(text, i in gold, said[i]) for i, text in enumerate(texts))
    else:
        fields["references"] = (draw(full_words), *draw(st.lists(words, max_size=2)))
    return fields, draw(st.lists(st.integers(0, 5), max_size=3))


def benchmarks(
    options: st.SearchStrategy[str] = words,
) -> st.SearchStrategy[list[tuple[str, dict[str, Any], list[int]]]]:
    """Several items with ids that differ."""
    one = drafts(options)
    ids = st.lists(full_words, min_size=1, max_size=5, unique=True)
    return ids.flatmap(
        lambda names: st.tuples(*(one for _ in names)).map(
            lambda made: [(name, fields, images) for name, (fields, images) in zip(names, made, strict=True)]
        )
    )


def write(to: Path, drawn: list[tuple[str, dict[str, Any], list[int]]]) -> Benchmark:
    with BenchmarkWriter(to, Manifest(name="random")) as writer:
        for name, fields, numbers in drawn:
            images = tuple(writer.images.put(image_file(number)) for number in numbers)
            writer.add(Item(id=name, images=images, **fields))
    return Benchmark(to)
