"""Files of answers as other tools write them, and runs as one can compare them."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import openpyxl

from eyetest.records import Answer, Response
from eyetest.runs import Journal, read_answers
from tests.support.command import call

API_FAILURE = "Failed to obtain answer via API."
REQUEST_FAILED = "[REQUEST_FAILED after 5 retries]"


def jsonl(path: Path, *rows: Mapping[str, Any]) -> Path:
    """Python's own JSON, as lmms-eval logs it."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def separated(path: Path, header: Sequence[str], *rows: Sequence[Any]) -> Path:
    """Every field quoted, as VLMEvalKit does in TSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",", quoting=csv.QUOTE_ALL)
        writer.writerows([header, *rows])
    return path


def xlsx(path: Path, header: Sequence[str | None], *rows: Sequence[Any]) -> Path:
    """As pandas writes it, so that a text beginning with = is a formula and a long one is cut."""
    book = openpyxl.Workbook()
    for row in (header, *rows):
        book.active.append(list(row))
    book.save(path)
    return path


def numbered(number: int, text: str = "A") -> Response:
    return Response(request=f"{number:032x}", outcome="answered", text=text)


def journal_of(folder: Path, *responses: Response, **how: Any) -> Journal:
    """A journal, open, to which these were appended."""
    journal = Journal(folder, **how)
    for response in responses:
        journal.append(response)
    return journal


def answers(folder: Path) -> list[Answer]:
    return list(read_answers(folder))


def imported(path: Path, *options: object) -> Path:
    """The run beside a file of answers that was brought in."""
    call("import", path, "--to", path.parent / "run", *options).fine()
    return path.parent / "run"


def texts(folder: Path) -> dict[str, str | None]:
    return {answer.item: answer.text for answer in read_answers(folder)}


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
