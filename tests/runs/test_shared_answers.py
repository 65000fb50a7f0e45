"""Real answers and real verdicts, checked against the files read by other means."""

import csv
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from eyetest.records import Answer
from eyetest.runs import read_answers
from tests.support.command import call

pytestmark = pytest.mark.journey

MATHVISTA = (
    *("--map", "item=item_id,text=raw_output,given=correct_if_given,model=model+augment,template=trial"),
    *("--map-values", "modality=condition:text>no-image,caption>caption,image>image"),
    *("--map-values", "ask=setting:zero-shot>direct,2-shot-cot>cot,2-shot-pot>cot"),
    *("--map-values", "shots=setting:zero-shot>none,2-shot-cot>two,2-shot-pot>two"),
    *("--fill", "sample=0"),
)
MMMU_PRO = (
    *("--map", "item=item_id,text=raw_output,given=correct_if_given,ask=setting"),
    *("--map-values", "modality=variant:vision10>screenshot,standard10>image,standard4>"),
)


def grid(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        header, *rows = csv.reader(file)
    return header, rows


def bring(path: Path, run: Path, *options: str) -> list[Answer]:
    call("import", path, "--to", run, *options).fine()
    return list(read_answers(run))


def test_mathvista_predictions(shared: Path, tmp_path: Path) -> None:
    path = shared / "data/mathvista/predictions.parquet"
    rows = pq.read_table(path).to_pylist()
    found = bring(path, tmp_path / "run", *MATHVISTA)
    assert len(found) == len(rows) == 26_365
    assert [answer.text for answer in found] == [row["raw_output"] for row in rows]
    assert [answer.given for answer in found] == [
        None if row["correct_if_given"] is None else float(row["correct_if_given"]) for row in rows
    ]
    modalities = {"text": "no-image", "caption": "caption", "image": "image"}
    assert Counter(answer.modality for answer in found) == Counter(modalities[row["condition"]] for row in rows)
    assert Counter((answer.model, answer.ask, answer.shots, answer.template) for answer in found) == Counter(
        (
            f"{row['model']} {row['augment']}" if row["augment"] else row["model"],
            "direct" if row["setting"] == "zero-shot" else "cot",
            "none" if row["setting"] == "zero-shot" else "two",
            row["trial"],
        )
        for row in rows
    )
    assert {answer.sample for answer in found} == {0}


def test_mmmu_pro_predictions(shared: Path, tmp_path: Path) -> None:
    """Four options are another benchmark than ten; here they stay out, and in the next line they come in alone."""
    path = shared / "data/mmmu_pro/predictions.parquet"
    rows = pq.read_table(path).to_pylist()
    assert len(rows) == 53_630
    ten = [row for row in rows if row["variant"] != "standard4"]
    found = bring(path, tmp_path / "ten", *MMMU_PRO)
    modalities = {"vision10": "screenshot", "standard10": "image"}
    said = [
        None if str(row["raw_output"]).startswith('{"error": "Invalid operation') else row["raw_output"]
        for row in ten
    ]
    keys = [(row["item_id"], row["model"], modalities[row["variant"]], row["setting"]) for row in ten]
    expected = [(*key, text) for key, text in zip(keys, said, strict=True)]
    assert 0 < said.count(None) == sum(answer.outcome == "failed" for answer in found)
    assert [(a.item, a.model, a.modality, a.ask, a.text) for a in found] == expected
    assert sum(answer.given or 0 for answer in found) == sum(bool(row["correct_if_given"]) for row in ten) == 3_246
    four = bring(path, tmp_path / "four", *MMMU_PRO[:2], "--where", "variant=standard4")
    assert len(four) + len(found) == 53_630
    joined = bring(path, tmp_path / "all", *MMMU_PRO[:2], "--map", "model=model+variant")
    assert len({answer.model for answer in joined}) == len({(row["model"], row["variant"]) for row in rows})
    assert len(joined) == 53_630


def test_mmmu_with_four_inputs(shared: Path, tmp_path: Path) -> None:
    path = shared / "data/vlm_matrices/normal_mmmu.csv"
    header, rows = grid(path)
    found = bring(
        path,
        tmp_path / "run",
        *("--matrix", "model", "--header", r"(?P<modality><no_\w+>)?(?P<item>.+)"),
        *("--map-values", "modality=<no_image>>no-image,<no_question>>no-question,<no_info>>nothing"),
    )
    assert len(found) == 24 * 4 * 847 == len(rows) * (len(header) - 1)
    prefixes = {"no-image": "<no_image>", "no-question": "<no_question>", "nothing": "<no_info>", "image": ""}
    assert Counter(answer.modality for answer in found) == dict.fromkeys(prefixes, 24 * 847)
    expected = {(row[0], name): float(cell) for row in rows for name, cell in zip(header[1:], row[1:], strict=True)}
    assert {(a.model, prefixes[a.modality] + a.item): a.given for a in found} == expected
    assert all(answer.text is None and answer.outcome == "answered" for answer in found)
