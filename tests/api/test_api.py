"""What notebooks call: that it waits, goes on where it stopped, is typed, and says the same as the commands."""

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import eyetest as et
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


def test_refining_inside_an_event_loop(here: Path) -> None:
    async def cell() -> et.RefineResult:
        return et.refine("world/benchmark", recipe="chance-aware", models="models.yaml", to="better")

    assert asyncio.run(cell()).frame["into"].to_list() == [ITEMS]
