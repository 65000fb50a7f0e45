"""Benchmarks and runs on a store elsewhere: what is brought, what is sent, and what nobody is shown."""

import os
import shutil
from pathlib import Path
from typing import Any

import fsspec
import msgspec
import pytest

from eyetest.benchmarks import Benchmark, Import, import_benchmark
from eyetest.commands.base import open_bench
from eyetest.errors import ImageError, InputError
from eyetest.records import RunStep
from eyetest.runs import Run, RunWriter, read_responses
from eyetest.store import replacing_file, replacing_folder, store_of
from eyetest.store.files import LocalStore
from eyetest.store.urls import RemoteStore, WriterMarker, cache_root, known_path, local_path, mirror_of
from eyetest.studio.decisions import ReviewPlan
from eyetest.studio.project import ReviewProject
from tests.running.benches import make_bench
from tests.runs.test_writers import said


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
    assert any(name.startswith("b/packs/") for name in objects(memory))
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
    with pytest.raises(InputError, match="is a benchmark folder already"):
        import_benchmark(tmp_path / "b", tmp_path / "c")


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
    ("said", "told"),
    [
        ("s3://me:secret@bucket/x", "holds a password"),
        ("s3://bucket/../x", "names no folder"),
        ("s3://bucket", "names no folder"),
        ("s3://bucket/a\0b", "names no folder"),
        ("nosuch://bucket/x", "nosuch"),
    ],
)
def test_what_leads_nowhere_is_one_line(said: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as refused:
        local_path(said)
    assert "secret" not in str(refused.value)


def test_errors_speak_of_urls(memory: str) -> None:
    with pytest.raises(InputError) as refused:
        Run(local_path(f"{memory}/runs/a"))
    assert f"{memory}/runs/a is no run folder" in str(refused.value)
    assert "remote-" not in str(refused.value)


def test_a_run_that_speaks_of_a_strange_url_leads_nobody_there(memory: str) -> None:
    assert known_path("s3://somebody-elses/benchmark") == Path("s3://somebody-elses/benchmark")
    local_path(f"{memory}/a")
    assert mirror_of(known_path(f"{memory}/benchmark")) is not None


def test_images_travel_in_a_pack_and_are_brought_when_they_are_looked_at(memory: str) -> None:
    make_bench(local_path(f"{memory}/bench"), 12, image_count=6)
    names = [name.partition("/")[0] for name in objects(f"{memory}/bench")]
    assert sorted(names) == ["benchmark.json", "images.index.parquet", "items.parquet", "packs"]
    here = local_path(f"{memory}/bench")
    assert not (here / "packs").exists()
    wipe_mirrors()
    bench = open_bench(f"{memory}/bench")
    assert not (here / "images").exists()
    images = [bench.images.read(image) for item in bench for image in item.images]
    assert len(set(images)) == 6
    (pack,) = (here / "packs").iterdir()
    fsspec.core.url_to_fs(memory)[0].rm(f"{memory}/bench/packs/{pack.name}")
    assert bench.images.bring(bench[0].images[0]).read_bytes() == images[0]
    assert [bench.images.read(image) for item in bench for image in item.images] == images


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


def test_a_pack_that_was_copied_to_a_disk_is_read_there(memory: str, tmp_path: Path) -> None:
    make_bench(local_path(f"{memory}/bench"), 8, image_count=4)
    for name, data in objects(f"{memory}/bench").items():
        LocalStore().write(tmp_path / "copy" / name, data)
    copied = Benchmark(tmp_path / "copy")
    whole = Benchmark(local_path(f"{memory}/bench"))
    assert [copied.images.read(i) for item in copied for i in item.images] == [
        whole.images.read(i) for item in whole for i in item.images
    ]
    (pack,) = (tmp_path / "copy/packs").iterdir()
    pack.write_bytes(pack.read_bytes()[:-1] + b"?")
    with pytest.raises(ImageError, match="other bytes"):
        [copied.images.read(image) for item in copied for image in item.images]


def test_loose_images_that_somebody_copied_there_are_read_one_by_one(memory: str, tmp_path: Path) -> None:
    local = make_bench(tmp_path / "b", 6, image_count=3)
    fsspec.core.url_to_fs(memory)[0].put(str(tmp_path / "b"), f"{memory}/b", recursive=True)
    bench = open_bench(f"{memory}/b")
    assert not (bench.path / "images").exists()
    assert [bench.images.read(i) for item in bench for i in item.images] == [
        local.images.read(i) for item in local for i in item.images
    ]


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
    monkeypatch.setattr(store.mirror.fs, "get", lambda *files: pytest.fail("fetched"))
    local_path(f"{memory}/a")
    store.remove(place / "x.csv")
    assert objects(f"{memory}/a") == {}
    assert local_path(f"{memory}/a/x.csv").exists() is False


def test_names_from_a_listing_stay_inside(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(f"{memory}/a/good.csv", b"1")
    mirror = remote(local_path(f"{memory}/b")).mirror
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


def test_a_second_writer_elsewhere_is_refused_in_one_line(memory: str) -> None:
    place = local_path(f"{memory}/run")
    marker = f"{memory}/run/lock.writer"
    with RunWriter(place) as run:
        run.record(RunStep(what="ask"), {})
        found = msgspec.json.decode(objects(f"{memory}/run")["lock.writer"], type=WriterMarker)
        assert found.pid == os.getpid()
    assert "lock.writer" not in objects(f"{memory}/run")
    assert Run(place).writer is None
    put(marker, msgspec.json.encode(msgspec.structs.replace(found, host="gpu7", pid=4711)))
    assert Run(place).writer == "4711 on gpu7"
    told = rf"is being written by process 4711 on gpu7 since .+; if that has ended, remove {marker}$"
    with pytest.raises(InputError, match=told), RunWriter(place):
        pytest.fail("two writers")
    put(marker, msgspec.json.encode(found))
    with RunWriter(place):  # one that was killed on this machine
        pass
    assert "lock.writer" not in objects(f"{memory}/run")


def test_an_open_part_stays_here_and_is_uploaded_when_it_is_sealed(memory: str) -> None:
    place = local_path(f"{memory}/run")
    with RunWriter(place) as run:
        run.record(RunStep(what="ask"), {})
        run.journal.append(said(1))
        local_path(f"{memory}/run")
        assert len(list(read_responses(place))) == 1
        assert not [name for name in objects(f"{memory}/run") if name.startswith(("journal/", "responses/"))]
    wipe_mirrors()
    local_path(f"{memory}/run")
    assert {response.request for response in read_responses(place)} == {said(1).request}


def test_what_needs_a_disk_is_refused(memory: str) -> None:
    with pytest.raises(InputError, match=r"a review needs a folder on a disk") as refused:
        ReviewProject.create(local_path(f"{memory}/review"), ReviewPlan(name="x"))
    assert memory in str(refused.value)
