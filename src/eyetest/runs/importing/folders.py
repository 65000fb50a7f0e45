"""A folder of outputs as its files: one a model, or one a model and benchmark, whose names say who answered.

``{model}_MMStar.xlsx`` says which files are meant and which part of a name is the model's. Without that every file of
answers that lies in the folder is, and its name is the model's unless the file itself says who answered.
"""

import re
from pathlib import Path

import msgspec

from eyetest.errors import InputError, heading, nearest, param, short
from eyetest.runs.importing.layouts import INSTANCE_COLUMNS
from eyetest.runs.importing.mapping import AnswerFile
from eyetest.runs.importing.values import FIELDS
from eyetest.tabular.files import ENDINGS, read_rows
from eyetest.tabular.inspect_log import is_inspect_log
from eyetest.tabular.table import kind_of, unpacked_name

_PLACE = re.compile(r"\{(\w*)\}")
MOST_FILES = 10_000
_NOT_ANSWERS = ("logs.json", "eval-set.json")
"""What inspect-ai keeps beside its logs."""
_KNOW_WHO = ("*.eval", "*_samples.jsonl")
"""Files that say who answered, of inspect-ai and of Every Eval Ever: found in folders below as well."""


def answer_files(source: AnswerFile) -> list[AnswerFile]:
    """The files that a user means, each with what its name says."""
    if not source.path.is_dir():
        if source.names:
            raise InputError(f"{heading('names')}: {source.path} is a file, and no folder of files")
        return [source]
    found = _named(source) if source.names else _all(source)
    if not found:
        what = f"that is called {source.names}" if source.names else f"of answers ({', '.join((*ENDINGS, '.eval'))})"
        mend = "" if source.names else f"; say where they lie: {param('names', '{model}/answers.jsonl')}"
        raise InputError(f"{source.path}: there is no file {what}{mend}")
    return found


def _all(source: AnswerFile) -> list[AnswerFile]:
    here = [path for path in source.path.iterdir() if kind_of(path) in ENDINGS and path.name not in _NOT_ANSWERS]
    below = (path for pattern in _KNOW_WHO for path in source.path.rglob(pattern))
    files = sorted(path for path in {*here, *below} if path.is_file() and not _is_aggregate(path))
    return [_told(source, path, {} if _says_who(source, path) else {"model": _stem(path)}) for path in files]


def _is_aggregate(path: Path) -> bool:
    """Whether what Every Eval Ever says of all samples stands beside them."""
    return path.with_name(f"{path.stem}_samples.jsonl").is_file()


def _says_who(source: AnswerFile, path: Path) -> bool:
    said = {*source.fields.columns, *source.fields.constants}
    if "model" in said or source.matrix or is_inspect_log(path):
        return True
    first = next((row for _, row in read_rows(path)), {})
    return "model" in first or first.keys() >= INSTANCE_COLUMNS


def _named(source: AnswerFile) -> list[AnswerFile]:
    pattern = _pattern(source.names)
    found = []
    for number, path in enumerate(sorted(source.path.rglob("*"))):
        if number > MOST_FILES:
            raise InputError(f"{source.path} holds more than {MOST_FILES:,} files")
        match = pattern.fullmatch(path.relative_to(source.path).as_posix())
        if match and path.is_file():
            found.append(_told(source, path, match.groupdict()))
    return found


def _pattern(names: str) -> re.Pattern[str]:
    """Names in braces and ``*`` stand for any part of a name, but not for a folder."""
    fields = _PLACE.findall(names)
    for field in fields:
        if field not in FIELDS:
            raise InputError(f'{heading("names")}: no field "{short(field)[1:-1]}"; {nearest(field, FIELDS)}')
    if len(set(fields)) < len(fields):
        raise InputError(f"{heading('names')}: {names} says the same field twice")
    parts = _PLACE.split(names)
    plain = (re.escape(part).replace(r"\*", "[^/]*") for part in parts[::2])
    places = (*(f"(?P<{field}>[^/]+)" for field in fields), "")
    return re.compile("".join(text + place for text, place in zip(plain, places, strict=True)))


def _stem(path: Path) -> str:
    return Path(unpacked_name(path.name)).stem


def _told(source: AnswerFile, path: Path, said: dict[str, str]) -> AnswerFile:
    twice = next(
        (field for field in said if field in source.fields.columns or field in source.fields.constants), None
    )
    if twice:
        raise InputError(f"{heading('names')}: {twice} is said elsewhere as well; say one of the two")
    constants = {field: value.encode("utf-8", "replace").decode() for field, value in said.items()}
    fields = msgspec.structs.replace(source.fields, constants=source.fields.constants | constants)
    return msgspec.structs.replace(source, path=path, fields=fields, names="")
