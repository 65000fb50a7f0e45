"""The plan: what is planned anew replaces its row, the rest stays."""

from pathlib import Path

import pytest

from eyetest.records import Asked, Planned, columns
from eyetest.runs.stored import PLAN, plan_table, planning


def write(folder: Path, *rows: tuple[Asked, str]) -> None:
    with planning(folder) as plan:
        for asked, request in rows:
            plan.add(asked, request)
    assert plan.rows == len(rows)


def asked(item: str, **values: object) -> Asked:
    return Asked(item=item, model="m", **values)  # type: ignore[arg-type]


def planned(folder: Path) -> list[Planned]:
    return [Planned(**row) for row in plan_table(folder).to_pylist()]


def requests(folder: Path) -> dict[tuple[str, str, int], str]:
    return {(row.item, row.modality, row.sample): row.request for row in planned(folder)}


def fail(folder: Path) -> None:
    with planning(folder) as plan:
        plan.add(asked("2"), "bb")
        raise KeyError


def test_rows_come_back_whole_and_in_order(tmp_path: Path) -> None:
    first = Asked(
        item="1\n\u2028é𝜋",
        model="m",
        modality="caption",
        ask="cot",
        shots="two",
        template=3,
        order=2**62,
        letters="digit",
    )
    second = Asked(item="1", model="", method="likelihood", sample=9)
    write(tmp_path, (first, "aa"), (second, "bb"))
    rows = planned(tmp_path)
    names = columns(Asked)
    assert [[getattr(row, name) for name in names] for row in rows] == [
        [getattr(row, name) for name in names] for row in (first, second)
    ]
    assert [row.request for row in rows] == ["aa", "bb"]


def test_a_row_is_replaced_by_its_whole_key(tmp_path: Path) -> None:
    rows = [
        (asked("1"), "aa"),
        (asked("1", modality="no-image"), "bb"),
        (asked("1", sample=1), "cc"),
        (asked("2"), "dd"),
    ]
    write(tmp_path, *rows)
    write(tmp_path, (asked("1", modality="no-image"), "new"), (asked("3"), "ee"))
    assert requests(tmp_path) == {
        ("1", "image", 0): "aa",
        ("1", "no-image", 0): "new",
        ("1", "image", 1): "cc",
        ("2", "image", 0): "dd",
        ("3", "image", 0): "ee",
    }
    assert len(plan_table(tmp_path)) == 5


def test_a_failed_writer_leaves_the_old_plan(tmp_path: Path) -> None:
    write(tmp_path, (asked("1"), "aa"))
    before = (tmp_path / PLAN).read_bytes()
    with pytest.raises(KeyError):
        fail(tmp_path)
    assert (tmp_path / PLAN).read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == [PLAN]
