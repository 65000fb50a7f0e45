"""What notebooks call: that it waits, goes on where it stopped, is typed, and says the same as the commands."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import assert_type

import pytest

import eyetest as et
from eyetest.errors import InputError
from tests.api.conftest import ITEMS, MODELS

HEAVY = ("polars", "scipy", "altair", "pyarrow", "numpy", "PIL", "msgspec", "sklearn", "aiohttp", "jinja2")


def loaded_by(code: str) -> set[str]:
    told = f"import sys; {code}; print(*[name for name in {HEAVY} if name in sys.modules])"
    return {*subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, check=True).stdout.split()}


def test_importing_loads_nothing_heavy() -> None:
    assert loaded_by("import eyetest; eyetest.__version__; dir(eyetest)") == set()
    assert loaded_by("import eyetest; eyetest.open") & {"scipy", "altair", "sklearn", "jinja2"} == set()


def test_every_name_is_there_and_a_wrong_one_is_not() -> None:
    assert {*et.__all__} <= {*dir(et)}
    assert [name for name in et.__all__ if getattr(et, name, None) is None] == []
    with pytest.raises(AttributeError, match="no attribute 'opne'"):
        et.opne  # type: ignore[attr-defined] # noqa: B018


def test_types_reach_the_user(here: Path) -> None:
    bench = assert_type(et.open("world/benchmark"), et.Benchmark)
    run = assert_type(et.open_run("run"), et.Run)
    assert_type(et.measure("gain", run), et.MeasureResult)
    assert_type(et.score(run), et.ScoreResult)
    assert_type(et.audit(bench, probe=["malformed"]), et.AuditResult)


def test_running_inside_an_event_loop(here: Path) -> None:
    """As in every notebook."""

    async def cell() -> et.Run:
        return et.run("world/benchmark", models=MODELS, limit=5, to="asked")

    assert asyncio.run(cell()).responses().num_rows == 15


def test_it_goes_on_where_it_stopped(here: Path) -> None:
    with pytest.warns(UserWarning, match=r"23 calls left; run the same again"):
        first = et.run("world/benchmark", models=MODELS, limit=10, to="asked", budget="calls=7")
    assert first.responses().num_rows == 7
    whole = et.run("world/benchmark", models=MODELS, limit=10, to="asked")
    assert whole.responses().num_rows == 30
    assert [step.what for step in whole.manifest.steps] == ["ask", "ask"]


@pytest.mark.parametrize("inside", [True, False], ids=["in a loop", "in a script"])
def test_an_interrupt_loses_nothing(here: Path, inside: bool) -> None:
    def ask() -> et.Run:
        slow = {"slow": "scripted:right=0.5,lag=0.05"}
        return et.run("world/benchmark", models=slow, to="asked", concurrency=2)

    async def cell() -> None:
        ask()

    def interrupt() -> None:
        while not any((here / "asked").glob("journal/*")):
            time.sleep(0.02)
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(cell()) if inside else ask()
    stored = et.open_run("asked").responses().num_rows
    assert 0 < stored < ITEMS
    assert ask().responses().num_rows == ITEMS


def test_failures_are_told(here: Path) -> None:
    with pytest.warns(UserWarning, match="calls failed"):
        et.run("world/benchmark", models="dead=scripted:dead=0.5", to="asked", limit=20)


def test_words_that_mean_nothing(here: Path) -> None:
    with pytest.raises(InputError, match="condition: no condition 'sidewys'"):
        et.run("world/benchmark", models=MODELS, condition="sidewys", to="asked")
    with pytest.raises(InputError, match="expected names of models"):
        et.run("world/benchmark", models={}, to="asked")
    with pytest.raises(InputError, match="expected specs"):
        et.run("world/benchmark", models=[3], to="asked")  # type: ignore[list-item]
    assert not (here / "asked").exists()


def test_models_by_file_by_word_and_by_name(here: Path) -> None:
    assert len(et.run("world/benchmark", models="models.yaml", to="a", limit=1).manifest.models) == 5
    assert [*et.run("world/benchmark", models="x=scripted:", to="b", limit=1).manifest.models] == ["x"]
    assert [*et.run("world/benchmark", models=["x=scripted:", "y=scripted:"], to="c", limit=1).manifest.models] == [
        "x",
        "y",
    ]
    entry = et.ModelEntry(spec="scripted:", base="z")
    assert et.run("world/benchmark", models={"x": entry}, to="d", limit=1).manifest.models["x"].base == "z"


def test_where_in_words_and_in_values(here: Path) -> None:
    wanted = et.measure("accuracy", "run", where={"modality": "image", "model": ["seer", "language"]}).frame
    assert wanted["model"].to_list() == ["language", "seer"]
    assert et.measure("accuracy", "run", where=["modality=image", "model=seer,language"]).frame.equals(wanted)
    assert et.measure("accuracy", "run", where="score=1").frame["accuracy"].to_list() == [1.0] * 6
    part = et.measure("accuracy", "run", where={"core": ["math"], "modality": "image"}).frame
    assert 0 < part["n"][0] < ITEMS
    with pytest.raises(InputError, match='did you mean "image"'):
        et.measure("accuracy", "run", where={"modality": "imag"})


def test_settings_of_a_measure(here: Path) -> None:
    linked = et.measure("linked", "run", set=["from=modality=no-image", "to=modality=image"])
    assert linked.settings.own.items() >= {"from": "modality=no-image", "to": "modality=image"}.items()
    pair = et.measure("differences", "run", set={"models": ["seer", "language"]}, where="modality=image")
    assert len(pair) == 1
    elo = {"seer": 1200.0, "squinter": 1100.0, "language": 900.0}
    assert len(et.measure("correlation", "run", external=elo, where="modality=image"))
    with pytest.raises(InputError, match='did you mean "no_image"'):
        et.measure("gain", "run", set={"noimage": "gray"})
    with pytest.raises(InputError, match="expected a number"):
        et.measure("items", "run", set={"right": "most"})


def test_one_of_a_kind_need_not_be_a_list(here: Path) -> None:
    asked = et.run("world/benchmark", models=MODELS, item="q07", condition=et.Condition(ask="cot"), to="asked")
    assert {row["ask"] for row in asked.plan().to_pylist()} == {"cot"}
    assert asked.responses().num_rows == 3
    assert et.audit("world/benchmark", probe="malformed").audit.probes == ("malformed",)
    with pytest.raises(InputError, match="seeer"):
        et.compare("run", model="seeer")


def test_refining_inside_an_event_loop(here: Path) -> None:
    async def cell() -> et.RefineResult:
        return et.refine("world/benchmark", recipe="chance-aware", models="models.yaml", to="better")

    assert asyncio.run(cell()).frame["into"].to_list() == [ITEMS]
