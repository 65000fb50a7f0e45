"""Benchmarks and runs on a store elsewhere: what is fetched, uploaded and refused."""

import shutil
from pathlib import Path
from typing import Any

import fsspec
import pytest

from eyetest.benchmarks import Benchmark, Import, import_benchmark
from eyetest.commands.base import open_bench
from eyetest.errors import ImageError, InputError
from eyetest.records import RunStep
from eyetest.runs import Run, RunWriter, read_responses
from eyetest.store import replacing_file, replacing_folder, store_of
from eyetest.store.urls import RemoteStore, cache_root, known_path, local_path, mirror_of
from eyetest.studio.decisions import ReviewPlan
from eyetest.studio.project import ReviewProject
from tests.running.benches import make_bench
from tests.runs.written import numbered
from tests.support.refusals import refusal


def objects(url: str) -> dict[str, bytes]:
    """All that lies below a url, by its name there."""
    fs, base = fsspec.core.url_to_fs(url)
    return {name.removeprefix(f"{base}/"): fs.cat_file(name) for name in fs.find(base)}


def put(url: str, data: bytes) -> None:
    fs, path = fsspec.core.url_to_fs(url)
    fs.pipe_file(path, data)


def wipe_mirrors() -> None:
    for folder in cache_root().glob("remote-*"):
        shutil.rmtree(folder)


def remote(path: Path) -> RemoteStore:
    store = store_of(path)
    assert isinstance(store, RemoteStore)
    return store


def test_a_benchmark_folder_travels_there_and_back(tmp_path: Path, memory: str) -> None:
    bench = make_bench(tmp_path / "b", 20, image_count=5)
    there = local_path(f"{memory}/b")
    import_benchmark(tmp_path / "b", there)
    assert any(name.startswith("b/images/") for name in objects(memory))
    wipe_mirrors()
    import_benchmark(local_path(f"{memory}/b"), tmp_path / "back")
    back = Benchmark(tmp_path / "back")
    assert back.manifest.fingerprint == bench.manifest.fingerprint
    assert back.manifest.lineage == bench.manifest.lineage
    assert [back.images.read(item.images[0]) for item in back] == [
        bench.images.read(item.images[0]) for item in bench
    ]
    with pytest.raises(InputError, match="is already there"):
        import_benchmark(tmp_path / "b", there)
    import_benchmark(tmp_path / "b", there, Import(overwrite=True))


def test_a_url_has_one_path_however_it_is_spelled(memory: str) -> None:
    path = local_path(f"{memory}/runs/a")
    assert path == local_path(Path(f"{memory}/runs/a")) == local_path(f"{memory}/runs/a/")
    assert path.is_relative_to(cache_root())
    assert path.parent == local_path(f"{memory}/runs")
    assert mirror_of(path) is mirror_of(path.parent / "b")
    assert mirror_of(Path("here")) is None
    assert local_path("here") == Path("here")
    assert local_path("file:///tmp/x") == Path("/tmp/x")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://me:secret@bucket/x", "holds a password"),
        ("s3://bucket/../x", "names no folder"),
        ("s3://bucket", "names no folder"),
        ("s3://bucket/a\0b", "names no folder"),
        ("nosuch://bucket/x", "nosuch"),
    ],
)
def test_what_leads_nowhere_is_one_line(url: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        local_path(url)
    assert "secret" not in str(refused.value)


def test_errors_speak_of_urls(memory: str) -> None:
    line = refusal(Run, local_path(f"{memory}/runs/a"))
    assert f"{memory}/runs/a is no run folder" in line
    assert "remote-" not in line


def test_a_run_that_speaks_of_a_strange_url_is_not_followed(memory: str) -> None:
    assert known_path("s3://another/benchmark") == Path("s3://another/benchmark")
    local_path(f"{memory}/a")
    assert mirror_of(known_path(f"{memory}/benchmark")) is not None


def test_images_are_fetched_when_they_are_needed_and_checked(memory: str) -> None:
    make_bench(local_path(f"{memory}/bench"), 12, image_count=6)
    wipe_mirrors()
    bench = open_bench(f"{memory}/bench")
    assert not (bench.path / "images").exists()
    images = [bench.images.read(image) for item in bench for image in item.images]
    assert len(set(images)) == 6
    fs, name = fsspec.core.url_to_fs(memory)[0], bench.images.path(bench[0].images[0])
    fs.rm(f"{memory}/bench/images", recursive=True)
    assert [bench.images.read(image) for item in bench for image in item.images] == images
    name.unlink()
    put(f"{memory}/bench/images/{name.parent.name}/{name.name}", images[0][:-1] + b"?")
    with pytest.raises(ImageError, match="other bytes"):
        bench.images.read(bench[0].images[0])


def test_a_forked_process_does_not_use_the_connections_of_the_other(
    memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bench(local_path(f"{memory}/bench"), 4, image_count=2)
    wipe_mirrors()
    bench = open_bench(f"{memory}/bench")
    monkeypatch.setattr(remote(bench.path), "missing", lambda path: pytest.fail("threads were left behind"))
    monkeypatch.setattr("os.getpid", lambda: 1)
    assert bench.images.has(bench[0].images[0])
    assert bench.images.read(bench[0].images[0])


def test_a_replaced_folder_leaves_nothing_of_the_older_one(memory: str) -> None:
    place = local_path(f"{memory}/figures")
    with replacing_folder(place) as folder:
        (folder / "old.svg").write_text("old")
        (folder / "kept.svg").write_text("old")
    with replacing_folder(place) as folder:
        (folder / "kept.svg").write_text("new")
    assert objects(f"{memory}/figures") == {"kept.svg": b"new"}
    with pytest.raises(ZeroDivisionError), replacing_folder(place) as folder:
        (folder / "kept.svg").write_text(f"{1 / 0}")
    assert objects(f"{memory}/figures") == {"kept.svg": b"new"}


def test_what_changed_there_is_brought_and_what_went_there_goes(memory: str) -> None:
    place = local_path(f"{memory}/a")
    for name in ("x.csv", "y.csv"):
        with replacing_file(place / name) as file:
            file.write_text("1")
    put(f"{memory}/a/x.csv", b"2")
    put(f"{memory}/a/deep/z.csv", b"3")
    fsspec.core.url_to_fs(memory)[0].rm(f"{memory}/a/y.csv")
    local_path(f"{memory}/a")
    assert {p.relative_to(place).as_posix(): p.read_text() for p in place.rglob("*.csv")} == {
        "x.csv": "2",
        "deep/z.csv": "3",
    }


def test_nothing_is_fetched_twice(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(f"{memory}/a/x.csv", b"1")
    place = local_path(f"{memory}/a")
    store = remote(place)
    monkeypatch.setattr(store.fs, "get", lambda *files: pytest.fail("fetched"))
    local_path(f"{memory}/a")
    store.remove(place / "x.csv")
    assert objects(f"{memory}/a") == {}
    assert local_path(f"{memory}/a/x.csv").exists() is False


def test_names_from_a_listing_stay_inside(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(f"{memory}/a/good.csv", b"1")
    mirror = remote(local_path(f"{memory}/b"))
    listing = mirror.listing

    def hostile(path: Path) -> list[Any]:
        found = listing(path)
        evil = ("../../../evil.csv", "..", "/etc/evil.csv", "a\\b", "line\nbreak", "x" * 300, ".known", "")
        folder = found[0]["name"].rpartition("/")[0] if found else ""
        return [*found, *(found[0] | {"name": f"{folder}/{name}"} for name in evil)] if found else found

    monkeypatch.setattr(mirror, "listing", hostile)
    place = local_path(f"{memory}/a")
    assert [path.name for path in place.iterdir()] == ["good.csv"]
    assert not list(cache_root().rglob("evil*"))


def test_an_open_part_stays_here_and_is_uploaded_when_it_is_sealed(memory: str) -> None:
    place = local_path(f"{memory}/run")
    with RunWriter(place) as run:
        run.record(RunStep(what="ask"), {})
        run.journal.append(numbered(1))
        local_path(f"{memory}/run")
        assert len(list(read_responses(place))) == 1
        assert not [name for name in objects(f"{memory}/run") if name.startswith(("journal/", "responses/"))]
    wipe_mirrors()
    local_path(f"{memory}/run")
    assert {response.request for response in read_responses(place)} == {numbered(1).request}


def test_what_needs_a_disk_is_refused(memory: str) -> None:
    with pytest.raises(InputError, match=r"a review needs a folder on a disk") as refused:
        ReviewProject.create(local_path(f"{memory}/review"), ReviewPlan(name="x"))
    assert memory in str(refused.value)
