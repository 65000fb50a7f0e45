"""Benchmarks and runs on a store elsewhere: what is brought, what is sent, and what nobody is shown."""

import shutil
from pathlib import Path
from typing import Any

import fsspec
import pytest

from eyetest.benchmarks import Benchmark, Import, import_benchmark
from eyetest.errors import EyetestError, ImageError, InputError
from eyetest.jobs.opening import open_bench
from eyetest.records import RunStep
from eyetest.review.project import ReviewPlan, ReviewProject
from eyetest.runs import Run, RunWriter, read_responses
from eyetest.runs.journal import seal
from eyetest.runs.parts import PartName, sealed
from eyetest.store import mirror as mirroring
from eyetest.store import replacing_file, replacing_folder, store_of
from eyetest.store.lease import Lease
from eyetest.store.local import BusyError, LocalStore
from eyetest.store.remote import RemoteStore
from eyetest.store.urls import cache_root, known_path, local_path, mirror_of
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
    bench = make_bench(tmp_path / "b", 20, pictures=5)
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


def test_pictures_travel_in_a_pack_and_are_brought_when_they_are_looked_at(memory: str) -> None:
    make_bench(local_path(f"{memory}/bench"), 12, pictures=6)
    names = [name.partition("/")[0] for name in objects(f"{memory}/bench")]
    assert sorted(names) == ["benchmark.json", "images.index.parquet", "items.parquet", "packs"]
    here = local_path(f"{memory}/bench")
    assert not (here / "packs").exists()
    wipe_mirrors()
    bench = open_bench(f"{memory}/bench")
    assert not (here / "images").exists()
    pictures = [bench.images.read(image) for item in bench for image in item.images]
    assert len(set(pictures)) == 6
    (pack,) = (here / "packs").iterdir()
    fsspec.core.url_to_fs(memory)[0].rm(f"{memory}/bench/packs/{pack.name}")
    assert bench.images.bring(bench[0].images[0]).read_bytes() == pictures[0]
    assert [bench.images.read(image) for item in bench for image in item.images] == pictures


def test_a_forked_process_does_not_use_the_connections_of_the_other(
    memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_bench(local_path(f"{memory}/bench"), 4, pictures=2)
    wipe_mirrors()
    bench = open_bench(f"{memory}/bench")
    monkeypatch.setattr(remote(bench.path), "missing", lambda path: pytest.fail("threads were left behind"))
    monkeypatch.setattr("os.getpid", lambda: 1)
    assert bench.images.has(bench[0].images[0])
    assert bench.images.read(bench[0].images[0])


def test_a_pack_that_was_copied_to_a_disk_is_read_there(memory: str, tmp_path: Path) -> None:
    make_bench(local_path(f"{memory}/bench"), 8, pictures=4)
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


def test_loose_pictures_that_somebody_copied_there_are_read_one_by_one(memory: str, tmp_path: Path) -> None:
    local = make_bench(tmp_path / "b", 6, pictures=3)
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
    monkeypatch.setattr(store.mirror.objects, "ranges", lambda spans: pytest.fail("fetched") if spans else [])
    local_path(f"{memory}/a")
    store.remove(place / "x.csv")
    assert objects(f"{memory}/a") == {}
    assert local_path(f"{memory}/a/x.csv").exists() is False


def test_names_from_a_listing_stay_inside(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    put(f"{memory}/a/good.csv", b"1")
    listing = remote(local_path(f"{memory}/b")).mirror.objects.listing

    def hostile(name: str) -> list[Any]:
        found = listing(name)
        evil = ("../../../evil.csv", "..", "/etc/evil.csv", "a\\b", "line\nbreak", "x" * 300, ".known", "")
        return [*found, *(found[0]._replace(name=f"{name}/{one}") for one in evil)] if found else found

    monkeypatch.setattr(remote(local_path(f"{memory}/b")).mirror.objects, "listing", hostile)
    place = local_path(f"{memory}/a")
    assert [path.name for path in place.iterdir()] == ["good.csv"]
    assert not list(cache_root().rglob("evil*"))


def test_a_large_file_comes_in_ranges_and_goes_on_where_it_was_cut(
    memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "MOST_AT_ONCE", 40)
    monkeypatch.setattr(mirroring, "_BYTES_A_RANGE", 10)
    data = bytes(range(250))
    put(f"{memory}/a/big.bin", data)
    store = remote(local_path(f"{memory}/b"))
    ranges, spans = store.mirror.objects.ranges, []

    def cut(wanted: Any) -> Any:
        spans.append(wanted)
        if len(spans) == 3:
            raise OSError("the line is dead")
        return ranges(wanted)

    monkeypatch.setattr(store.mirror.objects, "ranges", cut)
    with pytest.raises(OSError, match="dead"):
        local_path(f"{memory}/a")
    assert local_path(f"{memory}/a/big.bin").read_bytes() == data
    assert [span.start for span in spans[3]] == [80, 90, 100, 110]


def test_only_one_may_write_a_run_and_the_other_is_told_who_does(memory: str) -> None:
    place = local_path(f"{memory}/run")
    with RunWriter(place) as run:
        run.record(RunStep(what="ask"), {})
        assert "lock.lease" in objects(f"{memory}/run")
        with pytest.raises(BusyError, match=r"is being written by process \d+ on .+, heard of 0 s ago"):
            Lease(remote(place).mirror, place / "lock").take()
        assert Lease(remote(place).mirror, place / "lock").holder() is not None
    assert "lock.lease" not in objects(f"{memory}/run")
    assert Run(place).writer is None


def test_a_lease_that_is_not_renewed_is_taken_over_and_its_holder_stops(
    memory: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eyetest.store.lease._SETTLE_SECONDS", 0)
    place = local_path(f"{memory}/run")
    with RunWriter(place) as first:
        first.record(RunStep(what="ask"), {})
        first.journal.append(said(1))
        (lock,) = remote(place).locks_above(place / "journal")
        monkeypatch.setattr("eyetest.store.lease.EXPIRES_SECONDS", -1)
        second = Lease(remote(place).mirror, place / "lock")
        second.take()
        lock.renew()
        with pytest.raises(EyetestError, match="another process has taken over"):
            first.journal.append(said(2))
        monkeypatch.setattr("eyetest.store.lease.EXPIRES_SECONDS", 30)
        second.release()
    assert len(list(read_responses(place))) == 1


def test_a_part_that_was_sealed_elsewhere_without_its_end_loses_nothing(memory: str) -> None:
    place = local_path(f"{memory}/run")
    store = remote(place)
    with RunWriter(place) as run:
        run.record(RunStep(what="ask"), {})
        run.journal.append(said(1))
        file = run.journal._file
        assert file is not None
        file.sync()
        sent = objects(f"{memory}/run/journal")
        run.journal.append(said(2))
        # another machine takes the writer for dead, and seals what it finds
        (name,) = (name for name in sent if name.endswith(".jsonl"))
        other = place.parent / "other"
        LocalStore().write(other / "journal" / name, sent[name])
        part = PartName.parse(name.removesuffix(".jsonl"))
        assert part is not None
        seal(other, part)
        put(f"{memory}/run/responses/{part.stem}.parquet", sealed(other, part).read_bytes())
        store.mirror.objects.remove(f"run/journal/{name}")
    wipe_mirrors()
    local_path(f"{memory}/run")
    assert {response.request for response in read_responses(place)} == {said(1).request, said(2).request}


def test_the_unsent_end_of_a_part_outlives_its_sealing_elsewhere(memory: str) -> None:
    place = local_path(f"{memory}/run")
    store = remote(place)
    (place / "journal").mkdir(parents=True)
    file = store.begin(place / "journal/000001-aaaa.jsonl")
    file.add(b"sent\n")
    file.sync()
    file.add(b"not sent\n")
    file.close()
    store.mirror.objects.remove("run/journal/000001-aaaa.jsonl")
    local_path(f"{memory}/run")
    assert (place / "journal/000001-aaaaz.jsonl").read_bytes() == b"sent\nnot sent\n"
    assert not (place / "journal/000001-aaaa.jsonl").exists()


def test_what_needs_a_disk_is_refused(memory: str) -> None:
    with pytest.raises(InputError, match=r"a review needs a folder on a disk") as refused:
        ReviewProject.create(local_path(f"{memory}/review"), ReviewPlan(name="x"))
    assert memory in str(refused.value)
