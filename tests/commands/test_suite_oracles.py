"""What ReForm-Eval printed and published comes out of suites over its own outputs, brought in as anybody would."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyetest.commands.suite import SuiteResult, measure_suite, prepare
from tests.runs.conftest import Eyetest

KIE = "FUNSD_KIEOpenEnded_generation_blip2_blip2_t5_instruct.json"
COLOURS = "TDIUC_SingleChoice_likelihood_imagebindLLM_imagebindLLM.json"


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def measured(folder: Path, entries: list[dict[str, Any]]) -> SuiteResult:
    return measure_suite(prepare({"benchmarks": entries}, folder / "out"))


def test_forms_and_colours(shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eyetest: Eyetest) -> None:
    """Forms are asked once, in words. Colours are asked five times, each time with other distractors drawn: the item
    offers all that were ever drawn, so that a choice is the same choice in every test.
    """
    monkeypatch.chdir(tmp_path)
    outputs = shared / "oracles/reform"
    eyetest(
        "import", outputs / KIE, "--map", "id=sample_id", "--drop", "image", "--drop", "text", "--to", "forms"
    ).fine()
    brought = ("--map", "item=sample_id,text=prediction", "--model", "blip2", "--bench", "forms", "--to", "read")
    eyetest("import", outputs / KIE, *brought).fine()

    tests = json.loads((outputs / COLOURS).read_text())
    items: dict[str, dict[str, Any]] = {}
    for test in tests:
        item = items.setdefault(test["sample_id"], {"question": test["question"], "options": {}})
        item["options"] |= dict.fromkeys(test["answer_options"])
        item["answer"] = test["answer_options"][test["answer"]]
    write_lines(
        tmp_path / "colours.jsonl",
        [{"id": name, **item, "options": [*item["options"]]} for name, item in items.items()],
    )
    said = [
        {"item": test["sample_id"], "template": number % 5, "text": test["answer_options"][test["prediction"]]}
        for number, test in enumerate(tests)
    ]
    write_lines(tmp_path / "said.jsonl", said)
    eyetest("import", "colours.jsonl", "--gold-style", "text", "--to", "colours").fine()
    brought = ("--fill", "method=likelihood", "--model", "imagebind", "--bench", "colours", "--to", "weighed")
    eyetest("import", "said.jsonl", *brought).fine()

    forms = {"runs": ["read"], "dimension": "STP", "task": "KIE"}
    found = measured(
        tmp_path,
        [
            forms | {"name": "FUNSD", "metric": "words"},
            forms | {"name": "FUNSD whole", "metric": "phrase-reform"},
            {"runs": ["weighed"], "name": "TDIUC", "dimension": "FG", "task": "color"},
        ],
    ).tables
    (pooled,) = found["corpus"].filter(benchmark="FUNSD").get_column("overall")
    assert pooled == pytest.approx(0.0171, abs=5e-5)
    by_dataset = {row["model"]: row for row in found["accuracy-by-dataset"].iter_rows(named=True)}
    assert by_dataset["blip2"]["FUNSD whole"] == pytest.approx(0.0238, abs=5e-5)
    assert by_dataset["imagebind"]["TDIUC"] == pytest.approx(0.581818, abs=5e-7)
    (entropy,) = found["instability-by-dimension"].get_column("FG")
    assert entropy == pytest.approx(0.7122099356, abs=5e-11)
    (row,) = found["instability-by-source"].filter(source="all").to_dicts()
    assert (row["n"], row["tests"], row["unread"]) == (11, 5, 0)


def test_generation_ranks_of_table_4(
    shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, eyetest: Eyetest
) -> None:
    """25 of 26: two models have the same mean rank and share place 7, of which the paper makes 7 and 8."""
    monkeypatch.chdir(tmp_path)
    printed = pl.read_csv(shared / "oracles/paper_tables/reform_T4.csv")
    dimensions = [name for name in printed.columns if name.startswith("gen_") and name != "gen_R"]
    for name in dimensions:
        printed.select("model", (pl.col(name) / 100).alias("mean")).write_csv(f"{name}.csv")
        eyetest("import", f"{name}.csv", "--matrix", "model", "--map", "model=model", "--to", name).fine()
    entries = [{"runs": [name], "dimension": name.removeprefix("gen_")} for name in dimensions]
    table = measured(tmp_path, entries).tables["accuracy-by-dimension"]
    shown = [name for name in table.columns if not name.endswith(("_low", "_high"))]
    assert shown == ["model", *(name.removeprefix("gen_") for name in dimensions), "unread", "mean_rank", "rank"]
    both = table.select("model", "rank").join(printed.select("model", "gen_R"), on="model")
    assert both.height == 26
    assert both.filter(pl.col("rank") != pl.col("gen_R")).rows() == [("LLaVA-1.6-13B _V", 7, 8)]
