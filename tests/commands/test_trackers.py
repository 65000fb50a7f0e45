"""Runs in experiment trackers: a real server of MLflow, offline files of W&B, and event files of TensorBoard."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import eyetest as et
from eyetest.commands.trackers import folder_of
from eyetest.store.files import is_plain_name
from tests.conftest import ROOT
from tests.docs.pages import commands
from tests.support.command import call
from tests.support.drawn import draw_benchmark
from tests.support.proxy import free_port, wait_for

PYTHON = ROOT / ".venv-trackers/bin/python"
MODELS = ("good=scripted:right=0.9,blind=0.4,refuse=0.1,seed=1", "bad=scripted:right=0.5,blind=0.4,seed=2")
needs_trackers = pytest.mark.skipif(not PYTHON.exists(), reason="no trackers here: make trackers")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracked")
    draw_benchmark(folder / "b", items=24)
    words = [word for model in MODELS for word in ("--model", model)]
    call("run", folder / "b", *words, "--condition", "modality=image,no-image", "--to", folder / "run").fine()
    return folder


@pytest.fixture
def server(here: Path) -> Iterator[str]:
    """The address of a real server of MLflow."""
    port = free_port()
    store = f"--backend-store-uri sqlite:///{here}/ml.db --artifacts-destination {here}/artifacts"
    command = f"{PYTHON} -m mlflow server --host 127.0.0.1 --port {port} {store} --workers 1".split()
    with (here / "server.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=here, start_new_session=True)
    try:
        wait_for(port, 300)
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, 15)
        process.wait()


def _python(here: Path, *words: object) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": os.environ["PATH"], "HOME": str(here), "WANDB_MODE": "offline"}
    command = [str(PYTHON), *map(str, words)]
    return subprocess.run(command, cwd=here, env=environment, capture_output=True, text=True, check=False)


def _held(here: Path, kind: str, place: str) -> dict[str, Any]:
    done = _python(here, ROOT / "tests/commands/tracker_reader.py", kind, place)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout.rpartition("HELD ")[2]))


@needs_trackers
@pytest.mark.slow
@pytest.mark.parametrize("kind", ["wandb", "mlflow", "tensorboard"])
def test_what_a_tracker_holds(here: Path, kind: str, request: pytest.FixtureRequest) -> None:
    """Commands as documented; every figure and every answer is there, and no key of an answer."""
    (words,) = (words for words in commands("trackers.md") if f"{kind}:" in words[-1])
    place = {"wandb": "wandb", "tensorboard": "board"}.get(kind) or request.getfixturevalue("server")
    target = {"mlflow": f"mlflow:{place}", "tensorboard": "tensorboard:board"}.get(kind, words[-1])
    done = _python(here, "-m", "eyetest", *words[:-1], target)
    assert (done.returncode, done.stdout) == (0, f"2 models of run → {kind}: {target.partition(':')[2]}\n"), (
        done.stderr
    )
    held = _held(here, kind, place)
    assert {*held} == {"good", "bad"}
    scores = et.results(here / "run").scores.collect()
    for row in et.measure("accuracy", here / "run").frame.iter_rows(named=True):
        figures, items = held[row["model"]]
        for name in ("accuracy", "accuracy_low", "accuracy_high", "unread", "n"):
            assert figures[f"{row['modality']}/{name}"] == pytest.approx(row[name], abs=1e-6)
        mine = [one for one in items if one["modality"] == row["modality"]]
        assert len(mine) == 24
        assert sum(float(one["score"]) for one in mine) == pytest.approx(24 * row["accuracy"])
        own = scores.filter(model=row["model"], modality=row["modality"])
        assert {str(one["item"]) for one in mine} == {*own["item"]}
    gains = {row["model"]: row for row in et.measure("gain", here / "run").frame.iter_rows(named=True)}
    for model in held:
        for name in ("gain", "gain_low", "gain_high"):
            assert held[model][0][name] == pytest.approx(gains[model][name], abs=1e-6)
    questions = {item.question for item in et.open(here / "b")}
    assert not [question for question in questions if question in json.dumps(held, ensure_ascii=False)]


@needs_trackers
@pytest.mark.slow
def test_a_server_that_is_not_there(here: Path) -> None:
    done = _python(here, "-m", "eyetest", "export", "run", "--to", "mlflow:http://127.0.0.1:9")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("error: mlflow: ")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("run", "--to", "wandb:vision"), "wandb: needs wandb, which is not installed: pip install 'eyetest[wandb]'"),
        (("run", "--to", "mlflow:x"), "mlflow: needs mlflow, which is not installed: pip install 'eyetest[mlflow]'"),
        (("run", "--to", "tensorboard:x"), "pip install 'eyetest[tensorboard]'"),
        (("b", "--to", "wandb:vision"), "/b is none\n"),
        (("run", "--to", "wandb:vision", "--format", "jsonl"), "--to: wandb takes a run; leave out --format"),
        (("run", "--to", "hf://datasets/a/b"), "/run is a run\n"),
    ],
)
def test_what_is_missing(here: Path, words: tuple[str, ...], line: str) -> None:
    refused = call("export", here / words[0], *words[1:]).refused()
    assert line in f"{refused}\n"


def test_each_model_has_a_folder_of_its_own() -> None:
    models = (".", "..", "../x", "a/b", "a_b", "a%2Fb", "a b", "é")
    folders = {folder_of(model) for model in models}
    assert len(folders) == len(models)
    assert all(map(is_plain_name, folders))
    assert folder_of("gpt-4o_v1.5") == "gpt-4o_v1.5"


def test_a_password_in_an_address(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyetest.commands.trackers.find_spec", lambda name: object())
    refused = call("export", here / "run", "--to", "mlflow:http://ann:secret99@lab:5000").refused()
    assert "the address holds a user or password" in refused
    assert "secret99" not in refused
