"""Datasets of the hub, with the real huggingface_hub and datasets, on a stand-in of the hub's interface."""

import hashlib
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from eyetest.benchmarks import Benchmark
from eyetest.errors import InputError
from eyetest.store.hub import HubDataset, hub_dataset
from eyetest.store.urls import is_of_hub
from tests.conftest import png
from tests.running.processes import Command, Nursery
from tests.store.hub_server import TOKEN, Repo, StandIn, stand_in
from tests.support.drawn import draw_benchmark

Hub = Callable[..., Command]
ENVIRONMENT = {"HF_HUB_DISABLE_XET": "1", "HF_TOKEN": TOKEN}
LOAD = """
import hashlib, io, json, sys
from datasets import load_dataset
rows = load_dataset("me/bench", split="test")
images = [[hashlib.sha256(image.tobytes()).hexdigest() for image in row["images"]] for row in rows]
print(json.dumps({"ids": rows["id"][:], "options": rows["options"][:], "images": images}))
"""


@pytest.fixture
def hub() -> Iterator[StandIn]:
    with stand_in() as hub:
        yield hub


@pytest.fixture
def ask(hub: StandIn, nursery: Nursery, tmp_path: Path) -> Hub:
    """A command that reaches the stand-in, with the token of its user."""
    folders = {"HF_HOME": str(tmp_path / "hf"), "EYETEST_CACHE": str(tmp_path / "cache")}
    known = ENVIRONMENT | folders | {"HF_ENDPOINT": hub.address, "HF_HUB_OFFLINE": "0"}
    return lambda *words, **env: nursery.run(*words, env=known | env)


def _shard(*ids: str) -> bytes:
    row = {"options": ["yes", "no"], "answer": "A", "image": {"bytes": png("red"), "path": None}}
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([{"id": name, "question": f"What is {name}?"} | row for name in ids]), file)
    return file.getvalue()


def test_a_benchmark_is_pushed_and_read(hub: StandIn, ask: Hub, tmp_path: Path) -> None:
    bench = draw_benchmark(tmp_path / "b", items=12)
    done = ask("export", "b", "--to", "hf://datasets/me/bench").fine()
    assert done.stdout == "12 items, README.md, croissant.json → hf://datasets/me/bench\n"
    repo = hub.repos["me/bench"]
    assert repo.private
    assert "a new dataset is private" in done.stderr
    repo.files["more/train.parquet"] = _shard("a")
    assert {*repo.files} - {"more/train.parquet"} == {
        ".gitattributes",
        "README.md",
        "croissant.json",
        "data/test.parquet",
    }
    assert hashlib.sha256(repo.files["data/test.parquet"]).hexdigest() in hub.large
    assert (
        "is already there; choose another name or add --overwrite"
        in ask("export", "b", "--to", "hf://datasets/me/bench").stderr
    )
    done = ask("export", "b", "--to", "hf://datasets/me/bench", "--overwrite")
    assert (done.code, "private" in done.stderr) == (0, False)
    assert "more/train.parquet" in repo.files, "which eyetest did not write"
    del repo.files["more/train.parquet"]

    ask("import", "hf://datasets/me/bench", "--to", "back").fine()
    assert [*Benchmark(tmp_path / "back")] == [*bench]
    asked = ("run", "hf://datasets/me/bench/test", "--model", "m=scripted:right=1", "--to", "run")
    ask(*asked).fine()
    ask("measure", "accuracy", "run").fine()
    fetched = [line for line in hub.requests if line.startswith("GET") and "/resolve/" in line]
    assert len(fetched) == 1, "once for all commands"

    environment = {"HF_HOME": str(tmp_path / "hf2"), "HF_ENDPOINT": hub.address, "PATH": ""} | ENVIRONMENT
    loaded = subprocess.run([sys.executable, "-c", LOAD], env=environment, capture_output=True, text=True, check=True)
    rows = json.loads(loaded.stdout)
    assert rows["ids"] == [item.id for item in bench]
    assert rows["options"][0] == [choice.text for choice in bench[0].choices]
    assert [len(images) for images in rows["images"]] == [len(item.images) for item in bench]

    secrets = [path for path in tmp_path.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert secrets == [], "the token is written nowhere"


def test_configs_and_splits(hub: StandIn, ask: Hub, tmp_path: Path) -> None:
    card = """---
configs:
- config_name: art
  data_files:
  - split: dev
    path: art/dev-*
  - split: test
    path: ["art/test-*", "art/test-0*"]
- config_name: law
  data_files: law/*.tsv
---
# Exam
"""
    rows = pl.DataFrame({"index": ["1"], "question": ["?"], "A": ["x"], "B": ["y"], "answer": ["B"]})
    files = {"README.md": card.encode(), "load.py": b"raise SystemExit('executed')", "art/dev-0.parquet": _shard("d")}
    files |= {"art/test-1.PARQUET": _shard("t2"), "art/test-0.parquet": _shard("t0", "t1")}
    hub.repos["lab/exam"] = Repo(files | {"law/all.tsv": rows.write_csv(separator="\t").encode()})
    for name, ids in (
        ("lab/exam:art/test", ["t0", "t1", "t2"]),
        ("lab/exam:art/dev", ["d"]),
        ("lab/exam:law", ["1"]),
    ):
        ask("import", f"hf://datasets/{name}", "--to", "b", "--overwrite").fine()
        bench = Benchmark(tmp_path / "b")
        assert [item.id for item in bench] == ids
    assert bench.manifest.name == "exam-law"
    sha, name = hub.repos["lab/exam"].sha(), "hf://datasets/lab/exam"
    hub.repos["lab/exam"].commits.append(files | {"art/dev-0.parquet": _shard("new")})
    for revision, ids in ((f"@{sha}", ["d"]), ("", ["new"])):
        ask("import", f"{name}{revision}:art/dev", "--to", "b", "--overwrite").fine()
        assert [item.id for item in Benchmark(tmp_path / "b")] == ids
    for wrong, line in (
        ("", "has 2 configs; name one with :, such as hf://datasets/lab/exam:art; known: art, law"),
        (":art", "has 2 splits; name one with /, such as hf://datasets/lab/exam:art/dev; known: dev, test"),
        (":arts/dev", "has no config 'arts'; known: art, law"),
        (":art/train", "has no split 'train'; known: dev, test"),
        ("@v9:art/dev", "has no revision 'v9'"),
    ):
        assert ask("audit", f"{name}{wrong}").refused() == f"error: {name}{wrong} {line}\n"


@pytest.mark.parametrize(
    ("repo", "env", "line"),
    [
        (None, {}, "is not on the hub, or is private: log in with `hf auth login` or set HF_TOKEN"),
        (Repo({}, private=True), {"HF_TOKEN": ""}, "is not on the hub, or is private: log in with"),
        (Repo({"data.csv": b""}, gated=True), {}, "is gated: accept its terms on"),
        (Repo({"x.py": b"", "x.pkl": b""}), {}, "has no data file"),
        (Repo({"README.md": b"---\nconfigs: 5\n---\n", "x.py": b""}), {}, "has no data file"),
        (Repo({"README.md": b"---\n5\n---\n", "a.csv": b""}), {}, "hf://datasets/lab/x: AttributeError: "),
        (Repo({"dataset_infos.json": b"", "data/state.json": b""}), {}, "has no data file"),
        (Repo({"a.csv": b"", "b.csv": b""}), {}, "is 2 files of a.csv, b.csv; only Parquet may be in several"),
        (None, {"HF_ENDPOINT": "http://127.0.0.1:9"}, ": http://127.0.0.1:9 cannot be reached: "),
        (None, {"HF_HUB_OFFLINE": "1"}, "cannot be reached: "),
    ],
)
def test_what_cannot_be_read(hub: StandIn, ask: Hub, repo: Repo | None, env: dict[str, str], line: str) -> None:
    hub.repos |= {"lab/x": repo} if repo else {}
    refused = ask("audit", "hf://datasets/lab/x", **env).refused()
    assert line in refused
    assert refused.startswith("error: hf://datasets/lab/x")


def test_without_network_it_is_read_as_before(hub: StandIn, ask: Hub, tmp_path: Path) -> None:
    hub.repos["lab/x"] = Repo({"data/test-00000-of-00001.parquet": _shard("a", "b")})
    ask("show", "hf://datasets/lab/x").fine()
    done = ask("show", "hf://datasets/lab/x", HF_HUB_OFFLINE="1").fine()
    assert "the hub cannot be reached; hf://datasets/lab/x is read as it was fetched before" in done.stderr
    (before,) = (tmp_path / "cache").glob("hub-*/x")
    killed = before.parent.with_name(f"{before.parent.name[:-12]}{'0' * 12}") / ".x.partial-1/content"
    killed.mkdir(parents=True)
    again = ask("show", "hf://datasets/lab/x", HF_HUB_OFFLINE="1")
    assert (again.code, again.stdout, before.is_dir()) == (0, done.stdout, True), again.stderr
    hub.repos["lab/x"].commits.append({"data/test-00000-of-00001.parquet": _shard("c")})
    (tmp_path / "file").touch()
    assert "not a directory" in ask("show", "hf://datasets/lab/x", HF_HOME=str(tmp_path / "file/hf")).refused()
    assert before.is_dir()
    ask("show", "hf://datasets/lab/x").fine()
    assert len([*(tmp_path / "cache").glob("hub-*")]) == 1, "older copies are removed"


def test_who_may_push_and_where(hub: StandIn, ask: Hub, tmp_path: Path) -> None:
    draw_benchmark(tmp_path / "b", items=4)
    for words, env, line in (
        (
            ("export", "b", "--to", "hf://datasets/me/bench"),
            {"HF_TOKEN": "hf_wrong_token_0123456789"},
            "may not do this (401)",
        ),
        (("export", "b", "--to", "hf://datasets/me/bench/test"), {}, "names a part; push to hf://datasets/me/bench"),
        (("export", "b", "--format", "jsonl", "--to", "hf://datasets/me/bench"), {}, "the hub takes a benchmark"),
        (("import", "b", "--to", "hf://datasets/me/bench"), {}, "--to: only benchmarks are written to the hub"),
        *(
            ((*command, "hf://datasets/me/bench"), {}, f"{command[-1]}: only benchmarks are written to the hub")
            for command in (
                ("audit", "b", "--page"),
                ("audit", "b", "--verdicts-to"),
                ("audit", "b", "--fix"),
                ("open", "b", "--bundle"),
                ("report", "b", "--page", "p.html", "--figures"),
            )
        ),
    ):
        refused = ask(*words, **env).refused()
        assert line in refused
        assert "hf_wrong" not in refused
    assert hub.repos == {}


def test_names() -> None:
    assert hub_dataset(Path("hf://datasets/a/b:c/d")) == HubDataset("a/b", "", "c", "d")
    assert str(hub_dataset("hf://datasets/a/b@v1:c/d")) == "hf://datasets/a/b@v1:c/d"
    assert not is_of_hub("s3://a/b")
    for wrong in (
        "hf://datasets/b",
        "hf://a/b",
        "hf://datasets/../b",
        "hf://datasets/a/b/c/d",
        "hf://datasets/a/b c",
    ):
        with pytest.raises(InputError, match="names no dataset of the hub"):
            hub_dataset(wrong)
