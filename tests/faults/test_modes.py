"""The real backend against every mode of the faulty endpoint: each ends as it is expected to, and none as wrong."""

import asyncio
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator

import pytest

import eyetest as et
from eyetest.commands.faults import try_mode
from eyetest.faults import MODES, FaultyEndpoint, Mode
from eyetest.models import CallError
from eyetest.models.replies import read_completion

SLOW = ("huge", "bomb", "endless-blanks", "hang", "hang-in-body")
READ = [name for name, mode in MODES.items() if mode.status == 200 and not mode.wire]


@pytest.fixture(scope="module")
def faulty() -> Iterator[FaultyEndpoint]:
    with FaultyEndpoint() as endpoint:
        yield endpoint


@pytest.mark.parametrize("name", [name for name in MODES if name not in SLOW])
def test_every_mode_ends_as_expected(faulty: FaultyEndpoint, name: str) -> None:
    trial = asyncio.run(try_mode(faulty, MODES[name]))
    assert trial.problem == ""
    texts = {response.text for response in trial.responses if response.outcome == "answered"}
    assert texts <= {"B", "B caf\ufffd"}
    assert all(response.detail for response in trial.responses if response.outcome == "failed")


@pytest.mark.journey
@pytest.mark.parametrize("name", SLOW)
def test_modes_that_take_long_end_as_expected(faulty: FaultyEndpoint, name: str) -> None:
    assert asyncio.run(try_mode(faulty, MODES[name])).problem == ""


@pytest.mark.parametrize("name", READ)
def test_each_body_is_read_as_expected(name: str) -> None:
    """One reply alone, without attempts: an error is never an answer."""
    mode = MODES[name]
    try:
        outcome = str(read_completion("00", mode.body()).outcome)
    except CallError as error:
        outcome = "blocked" if error.kind == "blocked" else "failed"
    assert outcome == ("failed" if mode.expect == "stopped" else mode.expect)


def test_modes_of_your_own_are_served() -> None:
    mode = Mode(mode="teapot", expect="failed", about="a teapot", status=418, json={"error": "short and stout"})
    with FaultyEndpoint(modes=[mode]) as endpoint:
        with urllib.request.urlopen(f"http://127.0.0.1:{endpoint.port}/") as reply:
            assert json.load(reply)["modes"] == endpoint.listing()
        with urllib.request.urlopen(f"{endpoint.url('teapot')}/models") as reply:
            assert json.load(reply)["data"][0]["id"] == "faulty"
        trial = asyncio.run(try_mode(endpoint, mode))
    assert (trial.outcomes, trial.problem) == ({"failed": 6}, "")
    assert endpoint.calls["teapot"] == 6


def test_a_trial_that_ends_otherwise_is_a_problem() -> None:
    mode = Mode(mode="fine", expect="failed", about="an answer that is expected to fail", reply={})
    with FaultyEndpoint(modes=[mode]) as endpoint:
        assert asyncio.run(try_mode(endpoint, mode)).problem == "expected failed: answered 6"


def test_the_modes_are_listed() -> None:
    command = [sys.executable, "-m", "eyetest.faults", "--list"]
    listing = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    assert [row["mode"] for row in listing] == list(MODES)
    assert {row["expect"] for row in listing} == {"answered", "truncated", "blocked", "failed", "stopped"}
    assert len(listing) >= 66


@pytest.mark.journey
def test_doctor_tries_all_modes() -> None:
    found = et.doctor(faults=True)
    (check,) = [check for check in found.data["checks"] if check["name"] == "faults"]
    assert check["state"] == "ok"
    assert check["found"] == f"{len(MODES)} of {len(MODES)} modes of a faulty endpoint end as expected"
