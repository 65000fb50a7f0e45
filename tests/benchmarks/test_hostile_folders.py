"""A benchmark of unknown origin: its names lead to nothing outside, and its images are those it names."""

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest.benchmarks import Benchmark, export_benchmark, open_benchmark
from eyetest.benchmarks.folder import write_items
from eyetest.errors import ImageError, InputError
from eyetest.models.base import grey_url
from eyetest.records import ImageRef, Item
from eyetest.tabular.record_files import write_parquet
from tests.running.benches import make_bench
from tests.scoring.test_table import make_bench as write_bench
from tests.support.command import MAIN

SECRET = b"the key to everything"


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    return make_bench(tmp_path / "b", 6)


def first_image(bench: Benchmark) -> tuple[ImageRef, Path]:
    (image,) = next(iter(bench)).images
    return image, bench.images.path(image)


def link_out(path: Path) -> None:
    outside = path.parents[3] / "secret"
    outside.write_bytes(SECRET)
    path.symlink_to(outside)


def same_bytes_outside(path: Path) -> None:
    outside = path.parents[3] / "same"
    outside.write_bytes(path.with_suffix(".kept").read_bytes())
    path.symlink_to(outside)


def socket_at(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        here = Path.cwd()
        os.chdir(path.parent)
        try:
            bound.bind(path.name[:90])
        finally:
            os.chdir(here)


INSTEAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link to a secret": (link_out, "is a link that leaves"),
    "a link to a copy": (same_bytes_outside, "is a link that leaves"),
    "a link to itself": (lambda path: path.symlink_to(path.name), "leads nowhere"),
    "a pipe": (os.mkfifo, "is a pipe, not a file"),
    "a socket": (socket_at, "is a socket, not a file"),
    "a folder": (Path.mkdir, "is a folder, not a file"),
    "a link to a device": (lambda path: path.symlink_to("/dev/zero"), "is a link that leaves"),
    "other bytes": (lambda path: path.write_bytes(b"x" * path.with_suffix(".kept").stat().st_size), "other bytes"),
    "more bytes": (lambda path: path.write_bytes(SECRET * 100), "bytes were stored|were stored"),
    "nothing": (lambda path: None, "is missing"),
}


@pytest.mark.parametrize("what", INSTEAD)
def test_a_image_that_is_not_the_stored_file_goes_nowhere(tmp_path: Path, bench: Benchmark, what: str) -> None:
    image, path = first_image(bench)
    path.rename(path.with_suffix(".kept"))
    make, message = INSTEAD[what]
    make(path)
    with pytest.raises(ImageError, match=message) as caught:
        bench.images.read(image)
    assert image.filename in str(caught.value)
    for name in ("jsonl", "parquet", "vlmevalkit"):
        with pytest.raises(ImageError):
            export_benchmark(bench, name, tmp_path / name)
        assert not (tmp_path / name).exists()
    with pytest.raises(ImageError):
        write_items(tmp_path / "copy", bench, bench, bench.manifest, overwrite=False)
    assert not (tmp_path / "copy").exists()


def test_a_folder_of_images_that_leads_out_is_refused(tmp_path: Path, bench: Benchmark) -> None:
    image, path = first_image(bench)
    shutil.move(path.parent, tmp_path / "outside")
    path.parent.symlink_to(tmp_path / "outside")
    with pytest.raises(ImageError, match="leaves"):
        Benchmark(bench.path).images.read(image)


@pytest.mark.parametrize("name", ["items.parquet", "benchmark.json"])
def test_items_that_are_a_link_out_are_refused(tmp_path: Path, bench: Benchmark, name: str) -> None:
    shutil.move(bench.path / name, tmp_path / name)
    (bench.path / name).symlink_to(tmp_path / name)
    with pytest.raises(InputError, match="is a link that leaves"):
        list(Benchmark(bench.path))


def test_a_link_to_the_whole_benchmark_is_the_users_own(tmp_path: Path, bench: Benchmark) -> None:
    (tmp_path / "link").symlink_to(bench.path)
    linked = Benchmark(tmp_path / "link")
    assert list(linked) == list(bench)
    for item in linked:
        assert [linked.images.read(image) for image in item.images]


def as_hub_snapshot(source: Path, cache: Path) -> Path:
    """A copy of a folder as the hub's client keeps it: every file a link to a blob."""
    repository = cache / "datasets--me--mine"
    snapshot = repository / "snapshots" / "0123abcd"
    (repository / "blobs").mkdir(parents=True)
    for number, path in enumerate(sorted(path for path in source.rglob("*") if path.is_file())):
        place = snapshot / path.relative_to(source)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, repository / "blobs" / f"{number:040x}")
        up = "../" * (len(place.relative_to(repository).parts) - 1)
        place.symlink_to(f"{up}blobs/{number:040x}")
    return snapshot


@pytest.mark.parametrize("format_", ["jsonl", "lmms-eval", "parquet"])
def test_a_snapshot_of_the_hub_is_read(tmp_path: Path, bench: Benchmark, format_: str) -> None:
    to = tmp_path / "exported"
    if format_ == "parquet":
        to.mkdir()
    export_benchmark(bench, format_, to / "test-00000-of-00001.parquet" if format_ == "parquet" else to)
    snapshot = as_hub_snapshot(to, tmp_path / "hub")
    assert [item.images for item in open_benchmark(snapshot)] == [item.images for item in bench]
    if format_ == "jsonl":
        found = open_benchmark(snapshot / "items.jsonl")
        assert found.manifest.name == "items", "one file of a snapshot keeps its name"
        assert [item.images for item in found] == [item.images for item in bench]


def test_a_benchmark_folder_from_the_hub_is_read(tmp_path: Path, bench: Benchmark) -> None:
    found = Benchmark(as_hub_snapshot(bench.path, tmp_path / "hub"))
    assert list(found) == list(bench)
    for item in found:
        assert [found.images.read(image) for image in item.images]
    write_items(tmp_path / "copy", found, found, found.manifest, overwrite=False)
    assert not any(path.is_symlink() for path in (tmp_path / "copy").rglob("*"))


def test_a_hub_snapshot_may_not_lead_to_another_repository(tmp_path: Path, bench: Benchmark) -> None:
    export_benchmark(bench, "jsonl", tmp_path / "exported")
    snapshot = as_hub_snapshot(tmp_path / "exported", tmp_path / "hub")
    image = next((snapshot / "images").iterdir())
    other = tmp_path / "hub/datasets--me--private/blobs"
    other.mkdir(parents=True)
    shutil.copyfile(image.resolve(), other / "1")
    image.unlink()
    image.symlink_to(other / "1")
    with pytest.raises(InputError, match="leaves"):
        open_benchmark(snapshot)


@pytest.mark.parametrize("shard", ["link", "pipe"])
def test_shards_of_a_folder_are_files_inside(tmp_path: Path, shard: str) -> None:
    table = pa.table({"question": ["What?"], "answer": ["x"]})
    (tmp_path / "d").mkdir()
    pq.write_table(table, tmp_path / "d/a.parquet")
    pq.write_table(table, tmp_path / "secret.parquet")
    if shard == "link":
        (tmp_path / "d/b.parquet").symlink_to(tmp_path / "secret.parquet")
    else:
        os.mkfifo(tmp_path / "d/b.parquet")
    with pytest.raises(InputError, match=r"leaves|pipe"):
        open_benchmark(tmp_path / "d")


@pytest.mark.parametrize(
    "command",
    [
        ["audit", "p.tsv"],
        ["import", "p.parquet", "--to", "b"],
        ["show", "p.jsonl"],
        ["import", "p.csv", "--to", "r"],
        ["run", "b", "--models", "p.yaml", "--to", "r"],
        ["refine", "b", "--recipe", "mmstar", "--models", "p.yaml", "--to", "r"],
    ],
    ids=lambda command: command[0],
)
def test_a_pipe_on_the_command_line_is_refused_and_never_waited_for(tmp_path: Path, command: list[str]) -> None:
    (pipe,) = (word for word in command if word.startswith("p."))
    os.mkfifo(tmp_path / pipe)
    done = subprocess.run([*MAIN, *command], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert f"{pipe} is a pipe" in done.stderr
    assert "Traceback" not in done.stderr


def test_claimed_sizes_are_not_believed() -> None:
    with pytest.raises(ImageError, match="pixels"):
        grey_url(2**20, 2**20)


def test_other_items_than_those_of_the_manifest_are_refused(tmp_path: Path, bench: Benchmark) -> None:
    path = bench.path / "items.parquet"
    write_parquet(pq.read_table(path).slice(0, 4), path)
    with pytest.raises(InputError, match=r"holds other items than benchmark\.json describes"):
        bench["q1"]
    write_bench(tmp_path / "other", [Item(id=f"q{n}", question="Else?", references=("x",)) for n in range(6)])
    shutil.copyfile(tmp_path / "other/items.parquet", path)
    with pytest.raises(InputError, match=r"holds other items than benchmark\.json describes"):
        list(Benchmark(bench.path))


def test_a_flipped_bit_in_the_items_is_found_wherever_it_is(bench: Benchmark) -> None:
    path = bench.path / "items.parquet"
    whole = path.read_bytes()
    before = list(bench)
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(InputError):
            list(Benchmark(bench.path))
    path.write_bytes(whole)
    assert list(Benchmark(bench.path)) == before
    pq.write_table(pq.read_table(path), path)
    with pytest.raises(
        InputError, match=r"items\.parquet is damaged: it has no checksum; restore the file .* import"
    ):
        list(Benchmark(bench.path))
