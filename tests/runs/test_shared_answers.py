"""Real answers and real verdicts, checked against the files read by other means."""

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from eyetest.records import Answer
from eyetest.runs import read_answers
from tests.runs.conftest import Eyetest

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
PIPES = r"(?P<condition>[^|]+)\|(?P<name>[^|]+)\|(?P<setting>[^|]+)(\|(?P<augment>.+))?"


def grid(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        header, *rows = csv.reader(file)
    return header, rows


def bring(eyetest: Eyetest, path: Path, run: Path, *options: str) -> list[Answer]:
    eyetest("import", path, "--to", run, *options).fine()
    return list(read_answers(run))


def test_mathvista_predictions(shared: Path, tmp_path: Path, eyetest: Eyetest) -> None:
    path = shared / "data/mathvista/predictions.parquet"
    rows = pq.read_table(path).to_pylist()
    found = bring(eyetest, path, tmp_path / "run", *MATHVISTA)
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


def test_mathvistas_augmentations_are_told_apart_or_refused(shared: Path, tmp_path: Path, eyetest: Eyetest) -> None:
    path = shared / "data/mathvista/predictions.parquet"
    one = [option.replace("model=model+augment", "model=model") for option in MATHVISTA]
    line = eyetest("import", path, "--to", tmp_path / "run", *one).refused()
    assert "under the same condition in row" in line
    assert not (tmp_path / "run").exists()
    rows = pq.read_table(path, columns=["augment"]).column("augment")
    kept = len(rows) - pc.sum(pc.equal(rows, "caption+ocr")).as_py()
    only = bring(eyetest, path, tmp_path / "some", *one, "--where", "condition=text", "--where", "condition=image")
    more = bring(eyetest, path, tmp_path / "some", *one, "--where", "augment=ocr")
    assert (len(only), len(more)) == (16_365, kept)


def test_mmmu_pro_predictions(shared: Path, tmp_path: Path, eyetest: Eyetest) -> None:
    """Four options are another benchmark than ten; here they stay out, and in the next line they come in alone."""
    path = shared / "data/mmmu_pro/predictions.parquet"
    rows = pq.read_table(path).to_pylist()
    assert len(rows) == 53_630
    ten = [row for row in rows if row["variant"] != "standard4"]
    found = bring(eyetest, path, tmp_path / "ten", *MMMU_PRO)
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
    four = bring(eyetest, path, tmp_path / "four", *MMMU_PRO[:2], "--where", "variant=standard4")
    assert len(four) + len(found) == 53_630
    joined = bring(eyetest, path, tmp_path / "all", *MMMU_PRO[:2], "--map", "model=model+variant")
    assert len({answer.model for answer in joined}) == len({(row["model"], row["variant"]) for row in rows})
    assert len(joined) == 53_630


def test_mmmu_with_four_inputs(shared: Path, tmp_path: Path, eyetest: Eyetest) -> None:
    path = shared / "data/vlm_matrices/normal_mmmu.csv"
    header, rows = grid(path)
    found = bring(
        eyetest,
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


def test_mathvistas_matrix(shared: Path, tmp_path: Path, eyetest: Eyetest) -> None:
    path = shared / "data/mathvista/matrix.csv"
    header, rows = grid(path)
    found = bring(
        eyetest,
        path,
        tmp_path / "run",
        *("--matrix", "item", "--header", PIPES, "--map", "model=name+augment"),
        *("--map-values", "modality=condition:text>no-image", "--fill", "shots=none"),
        *("--map-values", "ask=setting:zero-shot>direct,2-shot-cot>cot,2-shot-pot>"),
    )
    wanted = [place for place, name in enumerate(header) if place and "2-shot-pot" not in name]
    cells = [row[place] for row in rows for place in wanted if row[place]]
    assert [answer.given for answer in found] == [float(cell) for cell in cells]
    assert {answer.item for answer in found} == {row[0] for row in rows}
    assert Counter(answer.modality for answer in found)["caption"] == sum(
        bool(row[place]) for row in rows for place in wanted if header[place].startswith("caption")
    )


def test_the_whole_of_ai2d(shared: Path, tmp_path: Path, eyetest: Eyetest) -> None:
    """Half a million verdicts; taken out again without a record being made of each."""
    path = shared / "data/vlm_matrices/aj_AI2D_TEST.csv"
    header, rows = grid(path)
    told = eyetest("import", path, "--to", tmp_path / "run", "--matrix", "item").fine()
    assert (
        "521,872 answers of 169 models (521,872 answered, 521,872 with scores from elsewhere, 521,872 of them" in told
    )
    eyetest("export", tmp_path / "run", "--to", tmp_path / "out.parquet").fine()
    table: Any = pq.read_table(tmp_path / "out.parquet")
    assert len(table) == len(rows) * (len(header) - 1) == 521_872
    assert table.column("text").null_count == len(table)
    for place in (1, 57, 169):
        part = table.filter(pc.equal(table.column("model"), header[place]))
        assert part.column("item").to_pylist() == [row[0] for row in rows]
        assert part.column("given").to_pylist() == [float(row[place]) for row in rows]


@pytest.mark.parametrize("name", ["mathvista", "mmmu_pro"])
def test_with_the_benchmark_every_item_is_known(shared: Path, tmp_path: Path, eyetest: Eyetest, name: str) -> None:
    options = MATHVISTA if name == "mathvista" else MMMU_PRO
    folder = shared / "data" / name
    told = eyetest(
        "import", folder / "predictions.parquet", "--to", tmp_path / "run", "--bench", folder, *options
    ).fine()
    assert "not in the benchmark" not in told
