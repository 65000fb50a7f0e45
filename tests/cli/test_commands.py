"""What is typed first: a list of commands by their job, help that loads none, the nearest name for a slip."""

import subprocess
import sys

import pytest

from eyetest.cli.commands import COMMANDS, GROUPS, JOBS, _load, job_of, summary
from eyetest.cli.terminal import out
from tests.support.command import call


def test_help_lists_every_command_under_its_job() -> None:
    told = call("--help").out
    for job, commands in JOBS.items():
        part = told.partition(f" {job} ")[2].partition("╰")[0]
        for name in {name.split()[0] for name in commands if job_of(name.split()[0]) == job}:
            assert f"│ {name} " in part


@pytest.mark.parametrize("words", [(), ("harden",)], ids=str)
def test_a_list_of_commands_fits_and_breaks_no_word(words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for width in (80, 60):
        monkeypatch.setattr(out, "_width", width)
        told = call(*words, "--help").out
        assert max(map(len, told.splitlines())) <= width
        tokens = set(told.replace("│", " ").split())
        names = [name for name in COMMANDS if name.split()[: len(words)] == [*words] and " --" not in name]
        summaries = (summary(name.split()[0] if not words else name) for name in names)
        assert {word for sentence in summaries for word in sentence.split()} <= tokens


@pytest.mark.parametrize("name", sorted({*COMMANDS} - {*GROUPS}))
def test_what_is_listed_is_what_the_command_says(name: str) -> None:
    assert " ".join(_load(name).help.partition("\n\n")[0].split()) == summary(name)


def test_help_loads_nothing_heavy() -> None:
    told = "from eyetest.cli import main\ntry:\n    main()\nexcept SystemExit:\n    print(*sorted(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\nsys.argv = ['eyetest', '--help']\n{told}"],
        capture_output=True,
        text=True,
        check=True,
    )
    loaded = set(done.stdout.splitlines()[-1].split())
    assert "eyetest.cli.commands" in loaded
    assert not loaded & {"polars", "numpy", "scipy", "PIL", "eyetest.measures", "eyetest.cli.audit", "rich.markdown"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("reveiw",), """there is no command 'reveiw'; did you mean "review"?"""),
        (("review", "stauts"), """there is no command 'review stauts'; did you mean "status"?"""),
        (("harden", "optoins"), """there is no command 'harden optoins'; did you mean "options"?"""),
        (("show",), "missing argument 'BENCH'"),
        (("run", "b", "--modles", "m"), "--models"),
        (("run", "b", "--trials", "x"), "eyetest run --help tells more"),
    ],
)
def test_a_slip_is_one_line(words: tuple[str, ...], told: str) -> None:
    done = call(*words)
    assert done.code == 2
    assert told in done.err
    assert done.err.startswith("error: ")
    assert len(done.err.splitlines()) == 1


def test_python_m_eyetest() -> None:
    done = subprocess.run([sys.executable, "-m", "eyetest", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("eyetest 0.")
