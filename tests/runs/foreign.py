"""Random benchmarks, and files of answers to them as other tools write them."""

import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from eyetest.records import letter
from tests.runs.inspect_logs import eval_file, header
from tests.runs.written import jsonl, separated, xlsx

Rows = list[dict[str, Any]]
_ADJECTIVES = ("red", "tall", "quiet", "broken", "striped", "wooden", "early", "narrow", "heavy", "shiny", "frozen")
_NOUNS = ("lamp", "river", "violin", "engine", "bridge", "melody", "carpet", "ladder", "window", "signal", "puzzle")
_VERBS = ("moves", "stops", "rings", "leans", "opens", "glows", "sinks", "turns", "waits", "falls", "breaks")


def random_items(seed: int, size: int = 12, *, options: int = 4) -> Rows:
    """Choice items with ids by number, no question twice; another seed gives the same ids and other contents."""
    draw = random.Random(seed)
    rows: Rows = []
    for number in range(size):
        noun, verb, adjective = (draw.choice(words) for words in (_NOUNS, _VERBS, _ADJECTIVES))
        question = f"Which {adjective} {noun} {verb} first in scene {number} of {draw.randrange(10**6)}?"
        texts = [f"{text} {draw.randrange(10**4)}" for text in draw.sample(_NOUNS, options)]
        rows.append({"id": str(number), "question": question, "options": texts, "answer": draw.randrange(options)})
    return rows


def open_items(seed: int, size: int = 12) -> Rows:
    """Items with a text as the reference."""
    draw = random.Random(f"open {seed}")
    return [
        {
            "id": row["id"],
            "question": row["question"],
            "answer": f"{draw.choice(_ADJECTIVES)} {draw.randrange(10**4)}",
        }
        for row in random_items(seed, size)
    ]


def benchmark_file(path: Path, rows: Rows) -> Path:
    """A benchmark of items, keys as letters."""
    lettered = [row | {"answer": letter(row["answer"])} if "options" in row else row for row in rows]
    return jsonl(path, *lettered)


def prompt_of(row: dict[str, Any]) -> str:
    """A question in a prompt, as a tool sends it."""
    options = "\n".join(f"{letter(place)}. {text}" for place, text in enumerate(row.get("options", ())))
    return f"<image>\nLook closely.  {row['question']}\n{options}\nAnswer with the letter of an option."


def key_of(row: dict[str, Any]) -> str:
    """The answer key as a tool writes it."""
    return letter(row["answer"]) if any(row.get("options", ())) else str(row["answer"])


def lmms_eval(path: Path, rows: Rows, order: Sequence[int]) -> Path:
    """As lmms-eval logs samples: no record of the item, only what was sent."""
    return jsonl(
        path.with_suffix(".jsonl"),
        *(
            {
                "doc_id": place,
                "input": prompt_of(row),
                "target": key_of(row),
                "filtered_resps": [f"reply {row['id']}"],
            }
            for place, row in ((place, rows[place]) for place in order)
        ),
    )


def lm_eval(path: Path, rows: Rows, order: Sequence[int]) -> Path:
    """As lm-eval logs samples: with the record of the item; numbered anew, as by a shuffled task."""
    return jsonl(
        path.with_suffix(".jsonl"),
        *(
            {
                "doc_id": number,
                "doc": {"problem": rows[place]["question"], "choices": rows[place].get("options", [])},
                "target": key_of(rows[place]),
                "arguments": {"gen_args_0": {"arg_0": prompt_of(rows[place]), "arg_1": {"until": ["\n"]}}},
                "resps": [[f"reply {rows[place]['id']}"]],
                "filtered_resps": [f"reply {rows[place]['id']}"],
                "doc_hash": "0" * 64,
            }
            for number, place in enumerate(order)
        ),
    )


def _vlmevalkit_rows(rows: Rows, order: Sequence[int]) -> tuple[list[str], list[list[Any]]]:
    letters = [letter(place) for place in range(len(rows[0].get("options", ())))]
    table = [
        [row["id"], row["question"], *row.get("options", ()), key_of(row), f"reply {row['id']}"]
        for row in (rows[place] for place in order)
    ]
    return ["index", "question", *letters, "answer", "prediction"], table


def vlmevalkit_xlsx(path: Path, rows: Rows, order: Sequence[int]) -> Path:
    """As VLMEvalKit writes predictions."""
    columns, table = _vlmevalkit_rows(rows, order)
    return xlsx(path.with_suffix(".xlsx"), columns, *table)


def vlmevalkit_tsv(path: Path, rows: Rows, order: Sequence[int]) -> Path:
    """As VLMEvalKit writes predictions, as text."""
    columns, table = _vlmevalkit_rows(rows, order)
    return separated(path.with_suffix(".tsv"), columns, *table)


def inspect_log(path: Path, rows: Rows, order: Sequence[int]) -> Path:
    """A log of inspect-ai."""
    samples = [
        {
            "id": row["id"],
            "epoch": 1,
            "input": row["question"],
            "choices": row.get("options"),
            "target": key_of(row),
            "messages": [{"role": "user", "content": prompt_of(row)}],
            "output": {"choices": [{"message": {"role": "assistant", "content": f"reply {row['id']}"}}]},
            "scores": {},
        }
        for row in (rows[place] for place in order)
    ]
    return eval_file(path.with_suffix(".eval"), samples, header())


def plain_table(path: Path, rows: Rows, order: Sequence[int]) -> Path:
    """A table of any program, with the question beside the answer."""
    cells = [[rows[place]["id"], rows[place]["question"], f"reply {rows[place]['id']}"] for place in order]
    return separated(path.with_suffix(".csv"), ["question_id", "question", "response"], *cells)


def json_with_options(path: Path, rows: Rows, order: Sequence[int]) -> Path:
    """One JSON list, with options as a list."""
    objects = [
        {"id": row["id"], "prompt": prompt_of(row), "choices": row.get("options"), "output": f"reply {row['id']}"}
        for row in (rows[place] for place in order)
    ]
    (path := path.with_suffix(".json")).write_text(json.dumps(objects))
    return path


WRITERS: dict[str, Callable[[Path, Rows, Sequence[int]], Path]] = {
    writer.__name__: writer
    for writer in (
        lmms_eval, lm_eval, vlmevalkit_xlsx, vlmevalkit_tsv, inspect_log, plain_table, json_with_options,
    )
}  # fmt: skip
