"""An option means one thing in all commands, and one that had another name says so and does what it did."""

import re
from collections import defaultdict
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest

import eyetest as et
from eyetest.cli.catalogue import COMMANDS
from eyetest.cli.commands import _load
from eyetest.cli.renamed import RENAMED, renamed
from tests.support.command import call

DOCS = Path(__file__).parents[2] / "docs/commands.md"
VALUES = {
    "--model": {"NAME", "SPEC"},  # a model by its name; where it can be asked, its spec does as well
    "--on": {"BENCH", "PLACE"},  # what is asked about; the review of a benchmark is found by the benchmark
    "--to": {"DIR", "FILE", "RUN", "BENCH", "DST"},  # where results go, and what they are there
}
"""Options whose value is not called the same everywhere."""


@pytest.fixture(scope="module")
def options() -> dict[str, dict[str, Any]]:
    """Each option, by the commands that have it."""
    found: dict[str, dict[str, Any]] = defaultdict(dict)
    for name in COMMANDS:
        for one in _load(name).params:
            if one.param_type_name == "option" and one.name != "help":
                found[one.opts[0]][name] = one
    return found


def test_an_option_takes_the_same_in_all_commands(options: dict[str, dict[str, Any]]) -> None:
    for flag, places in options.items():
        metavars = {one.metavar for one in places.values()}
        assert len(metavars) == 1 or metavars == VALUES.get(flag), (flag, metavars)
        kinds = {_one(one.type_descriptor.annotation) for one in places.values()}
        assert len(kinds) == 1 or flag in VALUES, (flag, kinds)


def _one(kind: Any) -> Any:
    """The type of one value, where several may be given."""
    return get_args(kind)[0] if get_origin(kind) is list else kind


def test_the_table_says_what_each_shared_option_means(options: dict[str, dict[str, Any]]) -> None:
    table = dict(re.findall(r"^\| `(--[\w-]+)[^`]*` \| (.+) \|$", DOCS.read_text(), re.MULTILINE))
    shared = {flag for flag, places in options.items() if len(places) > 1}
    assert sorted(shared - set(table)) == []
    assert sorted(set(table) - set(options)) == []
    assert len(set(table.values())) == len(table)


@pytest.mark.parametrize(("command", "old"), [(name, old) for name, words in RENAMED.items() for old in words])
def test_an_old_spelling_works_and_says_the_new_one(
    command: str, old: str, options: dict[str, dict[str, Any]]
) -> None:
    new = RENAMED[command][old]
    assert command in options[new]
    assert command not in options.get(old, {})
    value = ["1"] * (options[new][command].type_descriptor.annotation is not bool)
    done = call(*command.removesuffix(" --on").split(), old, *value, "--help")
    assert done.code == 0, done
    assert done.err.startswith(f"note: {old} is {new} now")
    assert old not in re.findall(r"--[\w-]+", done.out.partition("\n Example")[0]) or command == "compare --on"


def test_an_option_that_took_several_words_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    for words in ("run --models a b --csv", "--models a run b --csv", "--models a b run --csv"):
        now, _ = renamed(["compare", *words.split()])
        assert sorted(now) == sorted(["compare", "run", "--model", "a", "--model", "b", "--csv"])
        assert all(now[now.index(name) - 1] == "--model" for name in "ab")
    assert renamed(["compare", "a", "b", "--ask", "bench", "--models", "m.yaml"])[0] == [
        "compare",
        "a",
        "b",
        "--on",
        "bench",
        "--models",
        "m.yaml",
    ]


def test_what_stands_behind_two_dashes_is_no_option() -> None:
    assert renamed(["audit", "b", "--", "--html"]) == (["audit", "b", "--", "--html"], {})
    assert renamed(["audit", "b", "--html=x"]) == (["audit", "b", "--page=x"], {"--html": "--page"})
    assert renamed(["show", "--html"]) == (["show", "--html"], {})


def test_an_old_parameter_works_and_says_the_new_one(tmp_path: Path) -> None:
    with pytest.raises(et.EyetestError), pytest.warns(FutureWarning, match="to= is page= now"):
        et.report(tmp_path / "gone", to=tmp_path / "page.html")  # type: ignore[call-arg]
