"""The command ``similar``: which items are alike, in one benchmark, in a pool, or in two; and a map of them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from eyetest.commands.base import new_path, observer, open_bench, several
from eyetest.commands.lazy import pl
from eyetest.commands.options import AnyPath, Bench, Overwrite, Words
from eyetest.commands.results import Found, estimates
from eyetest.errors import InputError, counted, heading, nearest, param, short
from eyetest.grammar import refuse_idle

if TYPE_CHECKING:
    from eyetest.benchmarks import Benchmark
    from eyetest.similarity.search import Vectors


def similar(
    bench: Bench,
    other: Bench | None = None,
    /,
    *,
    compare: str = "both",
    encoder: Words = (),
    count: int = 1,
    page: AnyPath | None = None,
    color: str = "",
    overwrite: Overwrite = False,
) -> Found:
    """Find the items most like those of another benchmark, or most like each other.

    Texts and images are encoded once for each content and stored in the benchmark's folder. A score is a cosine, for
    both the mean of two. Kinds of pairs: same question (in the same words), near-paraphrase (close texts, same
    numbers), same image (perhaps resized or re-encoded), and with the same image duplicate or near-duplicate. In a
    pool (tag benchmark) only items of different sources are compared. Encoders: use (texts by meaning, extra
    similar), words (texts by spelling), pixels (images by layout, edges and colors), or openai:MODEL@URL (any
    embeddings endpoint).

    Args:
        bench: A benchmark.
        other: Another benchmark, whose nearest items are listed.
        compare: What is compared: text, image or both.
        encoder: Encoder of texts, or image=ENCODER; repeatable.
        count: List this many nearest items for each item.
        page: Write a page with a map of all items and the most similar pairs.
        color: Color the map by this tag.
        overwrite: Replace a page that eyetest wrote before.

    Examples:
        $ eyetest similar mybench other --output csv
        $ eyetest similar mybench --compare image --page map.html

        >>> found = et.similar("world/benchmark", encoder="words")
        >>> found.frame.columns
        ['item', 'other', 'score', 'text', 'image', 'kind', 'question', 'other_question']

    """
    from eyetest.reports.similar_page import write_similar_page
    from eyetest.similarity.search import nearest_pairs
    from eyetest.store import refuse_to_lose

    file = None if page is None else new_path(page, "page")
    if file:
        refuse_to_lose(file, overwrite=overwrite, ours=None)
    else:
        refuse_idle({"color": color}, f"it colors the map of a page; write one with {param('page', 'FILE')}")
    if count < 1:
        raise InputError(f"{heading('count')}: found {count}, expected 1 or more")
    benchmarks = [open_bench(bench)] if other is None else [open_bench(bench), open_bench(other)]
    sides, notes = embedded(benchmarks, compare, several(encoder))
    table = nearest_pairs(sides[0], sides[1] if len(sides) > 1 else None, count)
    if file:
        write_similar_page(sides, table, file, color, overwrite=overwrite)
        observer().note(f"page → {file}")
    kinds = table.filter(pl.col("kind") != "")["kind"].value_counts().sort("kind").rows()
    found = ", ".join(counted(number, kind) for kind, number in kinds) or "none shows or asks the same"
    line = f"{counted(len(table), 'pair')} of {' and '.join(b.manifest.name for b in benchmarks)}: {found}"
    return Found("similar items", table, notes, Group(Text(line, "bold"), estimates(table)))


def embedded(
    benchmarks: "Sequence[Benchmark]", compare: str, words: Sequence[str]
) -> "tuple[list[Vectors], tuple[str, ...]]":
    """The vectors of one or two benchmarks under the same encoders, and notes; texts alone where one has no image."""
    from eyetest.similarity.encoders import chosen_encoders
    from eyetest.similarity.search import PARTS, embed

    specs, notes = chosen_encoders(words, compare), list[str]()
    if compare not in PARTS:
        raise InputError(f"{heading('compare')}: found {short(compare)}; {nearest(compare, PARTS)}")
    if bare := [b.manifest.name for b in benchmarks if not b.manifest.counts.images and compare != "text"]:
        if compare == "image":
            raise InputError(f"{heading('compare')}: {bare[0]} has no images")
        compare = "text"
        notes.append(f"{bare[0]} has no images: texts alone are compared")
    with observer().steps("encoding") as step:
        return [embed(benchmark, specs, compare, step) for benchmark in benchmarks], tuple(notes)
