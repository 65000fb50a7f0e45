"""What notebooks call: that it waits, goes on where it stopped, is typed, and says the same as the commands."""

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import ClassVar, assert_type

import polars as pl
import pytest

import eyetest as et
from eyetest.errors import InputError
from eyetest.measures import MEASURES
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
    assert_type(et.measure.gain(run), et.Measured)
    assert_type(et.score(run), pl.DataFrame)
    assert_type(et.audit(bench, probes=["malformed"]), et.Audited)


def test_running_inside_an_event_loop(here: Path) -> None:
    """As in every notebook."""

    async def cell() -> et.Run:
        return et.run("world/benchmark", MODELS, limit=5, to="asked")

    assert asyncio.run(cell()).responses().num_rows == 15


def test_it_goes_on_where_it_stopped(here: Path) -> None:
    with pytest.warns(UserWarning, match=r"left, the same call goes on from here"):
        first = et.run("world/benchmark", MODELS, limit=10, to="asked", limits=et.Limits(calls=7))
    assert first.responses().num_rows == 7
    whole = et.run("world/benchmark", MODELS, limit=10, to="asked")
    assert whole.responses().num_rows == 30
    assert [step.what for step in whole.manifest.steps] == ["ask", "ask"]


@pytest.mark.parametrize("inside", [True, False], ids=["in a loop", "in a script"])
def test_an_interrupt_loses_nothing(here: Path, inside: bool) -> None:
    def ask() -> et.Run:
        slow = {"slow": "scripted:right=0.5,lag=0.05"}
        return et.run("world/benchmark", slow, to="asked", limits=et.Limits(concurrency=2))

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
        et.run("world/benchmark", "dead=scripted:dead=0.5", to="asked", limit=20)


def test_words_that_mean_nothing(here: Path) -> None:
    with pytest.raises(InputError, match="sight"):
        et.run("world/benchmark", MODELS, sights="sidewys", to="asked")
    with pytest.raises(InputError, match="expected names of models"):
        et.run("world/benchmark", {}, to="asked")
    with pytest.raises(InputError, match="expected specs"):
        et.run("world/benchmark", [3], to="asked")  # type: ignore[list-item]
    assert not (here / "asked").exists()


def test_models_by_file_by_word_and_by_name(here: Path) -> None:
    assert len(et.run("world/benchmark", "models.yaml", to="a", limit=1).manifest.models) == 5
    assert [*et.run("world/benchmark", "x=scripted:", to="b", limit=1).manifest.models] == ["x"]
    assert [*et.run("world/benchmark", ["x=scripted:", "y=scripted:"], to="c", limit=1).manifest.models] == ["x", "y"]
    entry = et.ModelEntry(spec="scripted:", base="z")
    assert et.run("world/benchmark", {"x": entry}, to="d", limit=1).manifest.models["x"].base == "z"


def test_the_same_numbers_as_the_command(here: Path) -> None:
    found = et.measure.gain("run", level=0.9, seed=3, blind="blind")
    code = "import sys; from eyetest.cli import main; sys.argv[0] = 'eyetest'; main()"
    command = [sys.executable, "-c", code, *("measure", "gain", "run", "--level", "0.9", "--seed", "3", "--csv")]
    told = subprocess.run(command, capture_output=True, check=True, cwd=here).stdout
    assert found.frame.equals(pl.read_csv(told).cast(found.frame.schema))


def test_where_in_words_and_in_values(here: Path) -> None:
    wanted = et.measure.accuracy("run", where={"sight": "image", "model": ["seer", "language"]}).frame
    assert wanted["model"].to_list() == ["language", "seer"]
    assert et.measure.accuracy("run", where=["sight=image", "model=seer,language"]).frame.equals(wanted)
    assert et.measure.accuracy("run", where="score=1").frame["accuracy"].to_list() == [1.0] * 6
    part = et.measure.accuracy("run", where={"core": ["math"], "sight": "image"}).frame
    assert 0 < part["n"][0] < ITEMS
    with pytest.raises(InputError, match='did you mean "image"'):
        et.measure.accuracy("run", where={"sight": "imag"})


def test_settings_of_a_measure(here: Path) -> None:
    linked = et.measure.linked("run", from_="sight=blind", to="sight=image")
    assert linked.settings.own == {"from": "sight=blind", "to": "sight=image"}
    pair = et.measure.differences("run", models=["seer", "language"], where="sight=image")
    assert len(pair) == 1
    elo = {"seer": 1200.0, "squinter": 1100.0, "language": 900.0}
    assert len(et.measure.correlation("run", external=elo, where="sight=image"))
    for wrong in ({"blnd": "grey"}, {"level": 2.0}):
        with pytest.raises(InputError):
            et.measure.gain("run", **wrong)
    with pytest.raises(InputError, match="expected a number"):
        et.measure.items("run", right="most")


def test_a_new_measure_is_there_without_more_ado(monkeypatch: pytest.MonkeyPatch) -> None:
    class Silence:
        """How little was said."""

        name = "odd-silence"
        summary = "silence, measured"
        own: ClassVar = {"at-most": (3, "words that still count as silence")}

        def measure(self) -> None:
            """One row."""

    monkeypatch.setitem(MEASURES._load(), "odd-silence", Silence())
    assert "odd_silence" in dir(et.measure)
    assert inspect.signature(et.measure.odd_silence).parameters["at_most"].default == 3
    told = inspect.getdoc(et.measure.odd_silence) or ""
    assert "Silence, measured." in told
    assert "words that still count" in told
    with pytest.raises(AttributeError, match='did you mean "odd_silence"'):
        et.measure.odd_silense  # noqa: B018


def test_one_of_a_kind_need_not_be_a_list(here: Path) -> None:
    asked = et.run("world/benchmark", MODELS, items="q07", conditions=et.Condition(ask="cot"), to="asked")
    assert {row["ask"] for row in asked.plan().to_pylist()} == {"cot"}
    assert asked.responses().num_rows == 3
    assert et.audit("world/benchmark", probes="malformed").audit.probes == ("malformed",)
    with pytest.raises(InputError, match="seeer"):
        et.compare("run", "seeer")


def test_refining_inside_an_event_loop(here: Path) -> None:
    async def cell() -> et.Refined:
        return et.refine("world/benchmark", "chance-aware", "models.yaml", to="better")

    assert asyncio.run(cell()).frame["into"].to_list() == [ITEMS]


def test_several_runs_are_measured_together(here: Path) -> None:
    et.run("world/benchmark", {"late": "scripted:right=0.5"}, to="more")
    found = et.measure.accuracy(["run", "more"], where="sight=image")
    assert found.frame["model"].to_list() == ["language", "late", "seer", "squinter"]


def test_refining_recorded_answers_asks_nobody(here: Path) -> None:
    orders = [et.Condition(order=order) for order in range(10)]
    et.run("world/benchmark", "models.yaml", sights="blind-guess", conditions=orders, to="blind")
    found = et.refine("world/benchmark", "chance-aware", answers=["blind"], to="better")
    assert found.frame["into"].to_list() == [ITEMS]
    assert len(found.benchmark) == found.frame["keep"][0]
    assert {"panel", "held out"} == {*found.blind["who"]}
    with pytest.raises(InputError, match="who answers"):
        et.refine("world/benchmark", "chance-aware", to="nothing")
