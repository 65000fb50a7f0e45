"""The files of each tool: written as one folder, read by what they hold."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

import msgspec

from eyetest.errors import InputError, nearest, param
from eyetest.records import Decision
from eyetest.review.exchange.argilla import RECORDS, argilla_folder, read_argilla
from eyetest.review.exchange.assignment import Assignment, Expected
from eyetest.review.exchange.label_studio import label_studio_tasks, labeling_config, read_label_studio
from eyetest.review.exchange.spreadsheet import read_sheet, write_sheet, write_waiting
from eyetest.review.queue import DECISIONS, QUEUE
from eyetest.store import refuse_to_lose, replacing_folder

ToolFormat = Literal["csv", "label-studio", "argilla"]
LARGEST = 2**30
"""The largest file that is read, in bytes."""
LARGEST_UPLOAD = 250 * 2**20
"""The largest file that Label Studio takes, in bytes, where nobody told it otherwise."""
Files = dict[str, bytes]
_OURS = re.compile(rf"{QUEUE}|{DECISIONS}|(round|settle)-\d+(-decided)?(\.json|\.xml)?")


class Outgoing(msgspec.Struct, frozen=True, kw_only=True):
    """What leaves: what waits, and what was decided, item by item with the decisions about each."""

    name: str
    waiting: Sequence[Assignment] = ()
    decided: Sequence[Assignment] = ()
    reviewers: Mapping[int, int] = {}
    """How many reviewers each round takes."""


def check_tool(name: str) -> ToolFormat:
    """A tool by its name."""
    if name not in get_args(ToolFormat):
        raise InputError(f'{param("tool")}: no tool "{name}"; {nearest(name, get_args(ToolFormat))}')
    return cast(ToolFormat, name)


def check_target(folder: Path, *, overwrite: bool) -> None:
    """Stop where files would take the place of something that is not ours."""
    inside = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    refuse_to_lose(folder, overwrite=overwrite, ours=[name for name in inside if _OURS.fullmatch(name)])


def write_files(outgoing: Outgoing, form: ToolFormat, folder: Path, *, overwrite: bool = False) -> list[str]:
    """Write what leaves as files of a tool; gives their names."""
    check_target(folder, overwrite=overwrite)
    files = _WRITERS[form](outgoing)
    with replacing_folder(folder, overwrite=overwrite) as new:
        for name, content in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(content)
    return list(files)


def _csv_files(outgoing: Outgoing) -> Files:
    decisions = (decision for one in outgoing.decided for decision in one.earlier)
    return {QUEUE: write_waiting(outgoing.waiting).encode(), DECISIONS: write_sheet(decisions).encode()}


def _label_studio_files(outgoing: Outgoing) -> Files:
    files: Files = {}
    for name, (waiting, decided) in _by_round(outgoing).items():
        files[f"{name}.xml"] = labeling_config([*waiting, *decided]).encode()
        for ending, some in (("", waiting), ("-decided", decided)):
            if some:
                files[f"{name}{ending}.json"] = content = _json(label_studio_tasks(some))
                if len(content) > LARGEST_UPLOAD:
                    told = f"{len(content) >> 20:,} MB, and Label Studio takes {LARGEST_UPLOAD >> 20} MB at once"
                    raise InputError(f"{name}{ending}.json has {told}; leave {param('with_pictures', True)} out")
    return files


def _argilla_files(outgoing: Outgoing) -> Files:
    files: Files = {}
    for name, (waiting, decided) in _by_round(outgoing).items():
        for ending, some in (("", waiting), ("-decided", decided)):
            if some:
                reviewers = outgoing.reviewers.get(some[0].round, 1) if not some[0].adjudicates else 1
                folder = argilla_folder(some, f"{outgoing.name}-{name}{ending}", reviewers)
                files |= {f"{name}{ending}/{file}": _json(content) for file, content in folder.items()}
    return files


def _by_round(outgoing: Outgoing) -> dict[str, tuple[list[Assignment], list[Assignment]]]:
    """What has one form: by round, and what is to be settled by itself; what waits, and what was decided."""
    rounds: dict[str, tuple[list[Assignment], list[Assignment]]] = {}
    for index, some in enumerate((outgoing.waiting, outgoing.decided)):
        for one in some:
            name = f"{'settle' if one.adjudicates else 'round'}-{one.round}"
            rounds.setdefault(name, ([], []))[index].append(one)
    return dict(sorted(rounds.items()))


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value) + b"\n"


_WRITERS: Mapping[ToolFormat, Callable[[Outgoing], Files]] = {
    "csv": _csv_files,
    "label-studio": _label_studio_files,
    "argilla": _argilla_files,
}


def read_files(path: Path, expected: Expected, form: ToolFormat | None = None) -> list[Decision]:
    """The decisions that a tool's file holds; refused as a whole where one of them is wrong."""
    if path.is_dir() and not (path / RECORDS).is_file():
        raise InputError(
            f"{path} is no folder that Argilla writes (it has no {RECORDS}); of other tools, name the file itself"
        )
    if path.is_dir():
        path = path / RECORDS
    if not path.is_file():
        raise InputError(f"{path} is not there")
    if path.stat().st_size > LARGEST:
        raise InputError(f"{path} has {path.stat().st_size >> 20:,} MB; at most {LARGEST >> 20:,} MB are read")
    if form == "csv" or (form is None and path.suffix.lower() == ".csv"):
        return read_sheet(path, expected)
    content = path.read_bytes()
    read = read_argilla if (form or _recognised(content, path)) == "argilla" else read_label_studio
    return read(content, expected, str(path))


def _recognised(content: bytes, path: Path) -> ToolFormat:
    """Whose JSON it is, by what its first record has."""
    try:
        records = msgspec.json.decode(content, type=list[dict[str, msgspec.Raw]])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        told = "what Label Studio exports as JSON, or the records of Argilla"
        raise InputError(f"{path} is neither CSV nor {told}: {error}") from None
    first = records[0] if records else {}
    if "fields" in first or "responses" in first:
        return "argilla"
    return "label-studio"
