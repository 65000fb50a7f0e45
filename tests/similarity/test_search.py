"""Vectors are computed once for each content, and searches find what another implementation finds."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.similarity import search
from eyetest.similarity.encoders import KINDS, Encoder, EncoderKind
from eyetest.similarity.search import embed, matching, nearest_pairs, nearest_rows
from tests.scoring.test_table import animals, make_bench


@pytest.mark.parametrize("count", [1, 7])
def test_nearest_rows_are_those_of_another_implementation(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(search, "_CELLS", 13 * 83)
    rng = np.random.default_rng(1)
    own, other = (search._normalised(rng.normal(size=(n, 9)).astype(np.float32)) for n in (50, 83))
    found, scores = nearest_rows(own, other, count)
    distances, places = NearestNeighbors(n_neighbors=count, metric="cosine").fit(other).kneighbors(own)
    assert np.array_equal(found, places)
    assert np.allclose(scores, 1 - distances, atol=1e-5)
    groups = [np.arange(50) % 3, np.arange(83) % 3]
    found, scores = nearest_rows(own, other, count, groups)
    cosines = np.where(groups[0][:, None] == groups[1], -np.inf, own @ other.T)
    assert np.array_equal(found, np.argsort(-cosines, axis=1)[:, :count])
    assert nearest_rows(own, other[:3], 9)[0].shape == (50, 3)


class Counting:
    """An encoder of texts that counts what it encodes and gives as many numbers as it is set to."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seen: list[str] = []
        self.width: Any = 4
        kind = EncoderKind("counting", "", ("text",), lambda of, target: Encoder("counting 1", self.encode))
        monkeypatch.setitem(KINDS._all, "counting", kind)

    def encode(self, texts: Any) -> Any:
        if "fails" in texts:
            raise InputError("away")
        self.seen += texts
        rows = [[len(text), text.count("e"), 1, text.count("a")] for text in texts]
        return [row[: self.width] for row in rows] if isinstance(self.width, int) else self.width


def vectors(bench: Benchmark) -> search.Vectors:
    return embed(bench, {"text": "counting"}, "text", lambda what, share: None)


def test_each_text_is_encoded_once_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = Counting(monkeypatch)
    texts = ["a bear", "an eel", "a bear", "<image 1> a cat"]
    bench = make_bench(tmp_path / "b", [animals(str(n), 1, question=text) for n, text in enumerate(texts)])
    first = vectors(bench)
    assert encoder.seen == ["a bear", "an eel", "a cat"]
    assert np.allclose(np.linalg.norm(first.parts["text"], axis=1), 1, atol=1e-3)
    (file,) = (tmp_path / "b/embeddings").iterdir()
    assert file.name == "counting-1.parquet"
    again = vectors(bench)
    assert len(encoder.seen) == 3
    assert np.array_equal(again.parts["text"], first.parts["text"])
    file.write_bytes(file.read_bytes()[:-40])
    assert np.array_equal(vectors(bench).parts["text"], first.parts["text"])
    assert len(encoder.seen) == 6
    other = make_bench(tmp_path / "c", [animals(str(n), 1, question=text) for n, text in enumerate(("new", "fails"))])
    monkeypatch.setattr(search, "_CHUNK", {"text": 1, "image": 1})
    with pytest.raises(InputError, match="away"):
        vectors(other)
    assert len(search._stored(tmp_path / "c/embeddings/counting-1.parquet")[0]) == 1
    for wrong in (3, [[np.nan] * 4], [[1, 2], [3]]):
        encoder.width = wrong
        (tmp_path / "c/embeddings/counting-1.parquet").write_bytes(file.read_bytes())
        with pytest.raises(InputError, match="not a row of numbers"):
            vectors(other)


def test_pairs_within_a_benchmark_and_a_pool(tmp_path: Path) -> None:
    asked = [
        "How tall is the red tower beside the old harbor?",
        "How tall is the red tower beside the old harbour?",
        "How many cats sleep in 2015?",
    ]
    asked += ["How many cats sleep in 2016?", "Why?"]
    items = [animals(str(n), 1, question=text, group="v" * (n > 2)) for n, text in enumerate(asked)]
    alone = embed(make_bench(tmp_path / "b", items), {"text": "words"}, "text", lambda what, share: None)
    table = nearest_pairs(alone, None, 1)
    assert table.row(0)[:2] == ("0", "1")
    kinds = {frozenset(row[:2]): row[3] for row in table.rows()}
    assert kinds[frozenset("01")] == "near-paraphrase"
    assert kinds[frozenset("23")] == ""  # other numbers
    assert frozenset("34") not in kinds  # one group
    tagged = [animals(str(n), 1, question=text, tags={"benchmark": "AABBB"[n]}) for n, text in enumerate(asked)]
    pool = embed(make_bench(tmp_path / "p", tagged), {"text": "words"}, "text", lambda what, share: None)
    assert all((one < "2") != (two < "2") for one, two, *_ in nearest_pairs(pool, None, 3).rows())
    assert matching(pool, alone, ["0", "3"], 2) == {"0", "3"}


def test_a_matching_subset_takes_the_nearest_of_each_in_turns() -> None:
    rng = np.random.default_rng(3)
    tables = [search._normalised(rng.normal(size=(n, 6)).astype(np.float32)) for n in (5, 30)]
    reference, own = (
        search.Vectors(None, [search.Compared(str(n), "", (), "") for n in range(len(table))], {"text": table}, {})  # type: ignore[arg-type]
        for table in tables
    )
    cosines = tables[0] @ tables[1].T
    cosines[:, ::3] = -2  # not in the pool
    turns: list[int] = []
    for place in range(20):
        nearest = np.argsort(-cosines, axis=1)[:, place]
        turns += nearest[np.argsort(-cosines[np.arange(5), nearest])].tolist()
    for size in (1, 3, 5, 8, 20):
        pool = [str(n) for n in range(30) if n % 3]
        assert matching(reference, own, pool, size) == set(map(str, list(dict.fromkeys(turns))[:size]))
