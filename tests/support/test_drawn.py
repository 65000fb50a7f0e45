from pathlib import Path

from eyetest.records import problems
from tests.support.drawn import draw_benchmark


def test_the_same_seed_draws_the_same_pixels(tmp_path: Path) -> None:
    first, again, other = (draw_benchmark(tmp_path / str(n), seed=seed) for n, seed in enumerate((3, 3, 4)))
    assert first.manifest.fingerprint == again.manifest.fingerprint != other.manifest.fingerprint


def test_every_kind_of_item_is_there(tmp_path: Path) -> None:
    items = list(draw_benchmark(tmp_path / "b", items=64, seed=1))
    assert [list(problems(item)) for item in items] == [[]] * 64
    assert {len(item.choices) for item in items} == {0, 2, 4, 6, 10}
    assert {len(item.images) for item in items} == {1, 2, 4}
    assert any(item.hint for item in items)
    assert any(item.history for item in items)
    assert any(item.choices and item.choices[0].images for item in items)
    assert all(len(item.gold) == 1 for item in items if item.choices)


def test_golds_are_what_is_drawn(tmp_path: Path) -> None:
    benchmark = draw_benchmark(tmp_path / "b", items=64, seed=2)
    for item in benchmark:
        if item.tags["task"] == "counting":
            shape = item.question.split()[2].removesuffix("s")
            assert item.choices[item.gold[0]].text == str(item.description.count(f" {shape}"))
        if item.tags["task"] == "chart":
            values = {p: int(v) for p, v in (line.split(",") for line in item.description.splitlines())}
            assert item.choices[item.gold[0]].text == max(values, key=values.__getitem__)
