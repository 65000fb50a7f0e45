"""A text that we wrote is told from one that somebody has changed, and only the first is replaced."""

from pathlib import Path

import pytest

from eyetest.benchmarks import Benchmark, BenchmarkWriter
from eyetest.errors import InputError
from eyetest.records import Item, Manifest
from eyetest.store.files import is_as_written, signed

TEXT = "# A card\n\nwith ümlauts\n"


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("card", "Card"),
        lambda text: text + "more\n",
        lambda text: "more\n" + text,
        lambda text: text.rpartition("<!--")[0],
        lambda text: text.replace("\n", "\r\n"),
    ],
)
def test_any_change_shows(tmp_path: Path, change: object) -> None:
    path = tmp_path / "README.md"
    assert not is_as_written(path), "there is none"
    path.write_bytes(signed(TEXT).encode())
    assert is_as_written(path)
    path.write_bytes(change(signed(TEXT)).encode())  # type: ignore[operator]
    assert not is_as_written(path)
    path.write_bytes(b"\xff")
    assert not is_as_written(path)


def test_a_benchmark_is_replaced_with_our_card_but_not_with_theirs(tmp_path: Path) -> None:
    def write(name: str) -> None:
        with BenchmarkWriter(tmp_path / "b", Manifest(name=name), overwrite=True) as writer:
            writer.add(Item(id="1", question="?", references=("1",)))

    write("first")
    readme = tmp_path / "b/README.md"
    readme.write_text(signed(TEXT))
    (tmp_path / "b/croissant.json").write_text("{}")
    write("second")
    assert not readme.exists()
    readme.write_text(TEXT)
    with pytest.raises(InputError, match=r"README\.md"):
        write("third")
    assert Benchmark(tmp_path / "b").manifest.name == "second"
    assert readme.read_text() == TEXT
