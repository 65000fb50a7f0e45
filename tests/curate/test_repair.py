"""What can be repaired is repaired, and no gold is ever changed."""

import tempfile
from pathlib import Path

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.curate import repair_benchmark
from eyetest.probes import Subject
from eyetest.probes.audit import run_audit
from eyetest.probes.option_order import can_reorder
from eyetest.records import Choice, Item, Manifest
from tests.probes.generated import InMemory, clean, image_file, plant_position

IMAGE = image_file(3)
QUICK = ["malformed", "positions", "duplicate-items"]


def written(to: Path, items: list[Item]) -> Benchmark:
    with BenchmarkWriter(to, Manifest(name="b"), gold_required=False) as writer:
        for item in items:
            writer.adopt(item, InMemory([]))  # type: ignore[arg-type]
    return Benchmark(to)


def flawed() -> list[Item]:
    drawn = plant_position(clean(400, seed=5), 0.5, seed=5)
    items = [msgspec.structs.replace(item, images=(IMAGE,)) for item in drawn]
    items[3] = msgspec.structs.replace(items[3], choices=(*items[3].choices, Choice("nan")))
    items[4] = msgspec.structs.replace(items[4], choices=(*items[4].choices, items[4].choices[0]))
    return [*items, msgspec.structs.replace(items[9], id="copy")]


def test_the_mended_copy_passes_the_audit_that_the_original_failed(tmp_path: Path) -> None:
    before = written(tmp_path / "before", flawed())
    failed = run_audit(Subject(before), QUICK)
    kinds = {finding.kind for finding in failed.alarms}
    assert {"gold-position-4", "lost-option", "equal-options", "duplicate-items"} <= kinds
    repairs = repair_benchmark(before, tmp_path / "after", rebalance=[4])
    after = Benchmark(tmp_path / "after")
    assert run_audit(Subject(after), QUICK).alarms == ()
    assert {repair.change for repair in repairs} == {"removed", "options dropped", "options reordered"}
    assert len(after) == len(before) - 1
    changed = {repair.item for repair in repairs} - {"copy"}
    assert {item.id for item in after if item.lineage} == changed
    assert after.manifest.lineage[-1].step == "repair"


def test_order_is_kept_where_a_text_depends_on_it() -> None:
    def item(*texts: str, question: str = "What?") -> Item:
        return Item(id="1", question=question, choices=tuple(Choice(t, i == 0) for i, t in enumerate(texts)))

    assert can_reorder(item("cat", "dog"))
    for tied in ("None of the above", "all of these", "Both A and B", "A and C", "either of them"):
        assert not can_reorder(item("cat", tied)), tied
    assert not can_reorder(item("cat", "dog", question="Why is option A better than (B)?"))
    assert not can_reorder(item("A", "B", "C"))
    assert not can_reorder(item("B. sheep", "A. cow"))


def test_no_item_goes_where_images_are_not_here(tmp_path: Path) -> None:
    things = ["dog", "cat", "car", "bus", "tree"]
    items = [
        Item(
            id=str(n),
            question=f"Is there a {things[n % 5]} in the image?",
            choices=(Choice("yes", n % 2 == 0), Choice("no", n % 2 == 1)),
            tags={"image_source": f"COCO_val2014_{n // 6:012}"} if n % 3 else {},
        )
        for n in range(900)
    ]
    before = written(tmp_path / "before", items)
    assert not [r for r in repair_benchmark(before, tmp_path / "after", rebalance=[2]) if r.change == "removed"]
    assert len(Benchmark(tmp_path / "after")) == 900


texts = st.sampled_from(["cat", "Cat", "dog", "nan", "", "None", "all of the above", "7", "7.0", "bird"])
choice_items = st.lists(
    st.tuples(st.sampled_from("xyz"), st.lists(texts, min_size=1, max_size=6), st.integers(0, 5)),
    min_size=1,
    max_size=12,
)


@given(choice_items, st.integers(0, 3))
def test_no_gold_is_ever_changed(drawn: list[tuple[str, list[str], int]], seed: int) -> None:
    items = [
        Item(id=str(n), question=f"{q}?", choices=tuple(Choice(t, i == g % len(ts)) for i, t in enumerate(ts)))
        for n, (q, ts, g) in enumerate(drawn)
    ]
    with tempfile.TemporaryDirectory() as folder:
        before = written(Path(folder) / "before", items)
        repairs = repair_benchmark(before, Path(folder) / "after", rebalance=range(2, 7), seed=seed)
        after = {item.id: item for item in Benchmark(Path(folder) / "after")}
    for item in items:
        if item.id not in after:
            assert any(r.item == item.id and r.change == "removed" for r in repairs)
            continue
        repaired = after[item.id]
        assert [repaired.choices[i] for i in repaired.gold] == [item.choices[i] for i in item.gold]
        remaining = list(item.choices)
        for choice in repaired.choices:
            remaining.remove(choice)
        if repaired.choices != item.choices:
            assert any(r.item == item.id for r in repairs)
