"""``eyetest init``: three questions, then a models.yaml and the commands for one's own file."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from rich.text import Text

from eyetest.cli.options import OverwriteOption, Words, argument, option
from eyetest.cli.terminal import note, out, safe
from eyetest.errors import InputError, nearest
from eyetest.jobs import init as job

_EVERYTHING = "all"


def init(
    bench: Annotated[
        Path | None, argument("[BENCH]", "A benchmark folder, or any file that eyetest can import.")
    ] = None,
    server: Annotated[
        str | None, option("--server", f"Where the model is: {', '.join(job.SERVERS)}.", "KIND")
    ] = None,
    model: Annotated[
        Words, option("--model -m", "What the server calls it; several with commas, or repeated.", "NAME")
    ] = None,
    address: Annotated[
        str | None, option("--address", "Of the server, up to /v1. (default: its kind's usual one)", "URL")
    ] = None,
    key_env: Annotated[
        str | None,
        option("--key-env", "The environment variable that holds the key; no key is written.", "NAME"),
    ] = None,
    goal: Annotated[
        Words, option("--goal", f"What you want to know: {', '.join(job.GOALS)}, or all.", "NAME")
    ] = None,
    to: Annotated[Path, option("--to", "The folder for both files. (default: this one)", "DIR")] = Path(),
    overwrite: OverwriteOption = False,
) -> None:
    """Ask three questions, and write models.yaml and eyetest.md, which has the commands for your file.

    Which benchmark, where the model is, and what you want to know: whatever an option says is not asked. Nothing is
    sent to any server.
    """
    bench = bench or Path(_asked("Which benchmark? A file or a folder", option="BENCH"))
    if not bench.exists():
        raise InputError(f"{bench} does not exist")
    kind = server or _chosen(
        "Where is the model?", {name: one.title for name, one in job.SERVERS.items()}, "--server"
    )
    if kind not in job.SERVERS:
        raise InputError(f'--server: no kind "{kind}"; {nearest(kind, job.SERVERS)}')
    names, url = _split(model), address or ""
    if kind != job.NO_SERVER:
        names = names or _split([_asked("What does the server call it? Several with commas", option="--model")])
        if not url and not (usual := job.SERVERS.get(kind, job.Server(""))).address:
            url = _asked("Under which address? http://HOST:PORT/v1", option="--address")
        elif not url and server is None and usual.address:
            url = _asked("Under which address?", usual.address, option="--address")
    goals = _split(goal) or [_chosen("What do you want to know?", {**job.GOALS, _EVERYTHING: "all of it"}, "--goal")]
    wishes = job.Wishes(bench, kind, names, url, key_env or "", list(job.GOALS) if _EVERYTHING in goals else goals)
    begun = job.begin(wishes, to, overwrite=overwrite)
    _report(begun)


def _report(begun: job.Beginning) -> None:
    out.print(Text(safe(begun.about), "bold"), soft_wrap=True)
    for goal, lines in begun.commands.items():
        out.print()
        out.print(job.GOALS[goal])
        for line in lines or [f"({begun.missing[goal]})"]:
            out.print(safe(f"  {line}"), soft_wrap=True)
    out.print()
    note(f"written: {', '.join(map(str, begun.files))}")


def _split(words: Words) -> list[str]:
    return [part.strip() for word in words or () for part in word.split(",") if part.strip()]


def _asked(question: str, default: str = "", *, option: str) -> str:
    """What somebody types; where nobody is there, the option to say it with."""
    if not sys.stdin.isatty():
        raise InputError(f"{option} is missing, and nobody is here to be asked; eyetest init --help tells more")
    usual = f" [{default}]" if default else ""
    try:
        said = input(f"{question}{usual}: ").strip() or default
    except EOFError:
        said = default
    if not said:
        raise InputError(f"no answer; {option} says it as well")
    return said


def _chosen(question: str, known: Mapping[str, str], option: str) -> str:
    """One of several, by its name or its number."""
    names = list(known)
    if sys.stdin.isatty():
        out.print(question)
        for number, (name, title) in enumerate(known.items(), 1):
            out.print(f"  {number}  {name:<{max(map(len, names))}}  {title}")
    said = _asked("A number or a name", option=option)
    if said.isdigit() and 1 <= int(said) <= len(names):
        return names[int(said) - 1]
    if said not in known:
        raise InputError(f'no "{said}"; {nearest(said, names)}')
    return said
