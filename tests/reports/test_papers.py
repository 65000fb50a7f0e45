"""Papers' tables from runs, against plain sums over the recorded answers."""

import csv
import json
import random
from collections.abc import Iterable
from math import log
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import polars as pl
import pytest
import yaml

import eyetest as et
from eyetest.benchmarks import BenchmarkWriter
from eyetest.errors import InputError
from eyetest.records import Choice, Item, Manifest
from eyetest.reports.papers import papers, read_paper
from tests.support.command import call

pytestmark = pytest.mark.journey
Cells = dict[tuple[str, ...], dict[str, str]]


def write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def written(
    folder: Path, paper: str, *things: object, keys: int = 1, **more: Any
) -> tuple[Any, list[dict[str, str]]]:
    """Tables by name and rows by their first cells, as their files have them; and the list of empty cells."""
    et.report([*things], page=folder / f"{paper}.html", figures=folder / paper, paper=paper, **more)
    tables: dict[str, Cells] = {}
    for name in read_paper(paper).tables:
        with (folder / paper / f"{name}.csv").open() as file:
            rows = list(csv.DictReader(file))
        tables[name] = {tuple(row.values())[:keys]: row for row in rows}
        tex = (folder / paper / f"{name}.tex").read_text()
        assert tex.count("\\\\") >= len(rows)
        assert "[" not in tex.partition("toprule")[2]
    with (folder / paper / "not-measured.csv").open() as file:
        return tables, list(csv.DictReader(file))


def number(cell: str) -> float:
    return float(cell)


def test_mmstar_from_published_verdicts(shared: Path, tmp_path: Path) -> None:
    """24 models on MMMU, with the image and without: Tables 3 and 6."""
    with (shared / "data/vlm_matrices/normal_mmmu.csv").open(encoding="utf-8-sig") as file:
        heads, *lines = list(csv.reader(file))
    rows, plain = [], dict[tuple[str, str], list[float]]()
    for model, *verdicts in lines[:6]:
        for head, verdict in zip(heads[1:], verdicts, strict=True):
            modality = "no-image" if head.startswith("<no_image>") else "image"
            if head.startswith("<") and modality == "image":
                continue
            item = head.removeprefix("<no_image>")
            rows.append({"item": item, "model": model, "modality": modality, "given": float(verdict)})
            plain.setdefault((model, modality), []).append(float(verdict))
    write_lines(tmp_path / "said.jsonl", rows)
    call("import", tmp_path / "said.jsonl", "--to", tmp_path / "mmmu").fine()
    models = {name: {"spec": "scripted:right=1", "size_b": 7} for name, *_ in lines[:6]}
    tables, empty = written(tmp_path, "mmstar", tmp_path / "mmmu", models=models)
    gains = {}
    for model, *_ in lines[:6]:
        seen, unseen = (100 * mean(plain[model, modality]) for modality in ("image", "no-image"))
        gains[model] = seen - unseen
        assert number(tables["table-6"][(model,)]["MMMU MG"]) == pytest.approx(gains[model])
        assert tables["table-6"][(model,)]["MMMU ML"] == tables["table-6"][(model,)]["SEED MG"] == ""
        assert tables["table-6"][(model,)]["Param."] == "7B"
        assert number(tables["table-1"][(model,)]["MMMU"]) == pytest.approx(unseen)
        assert number(tables["table-5"][(model,)]["Avg."]) == pytest.approx(seen)
    assert number(tables["table-6"][("Avg.",)]["MMMU MG"]) == pytest.approx(mean(gains.values()))
    needs = {(row["table"], row["cells"]): row for row in empty}
    assert "--condition no-image" in needs["Table 1", "MMB, ScienceQA, AI2D, SEED, MathVista"]["needs"]
    assert needs["Table 5", "ML"]["rows"] == "all"
    assert "base: in models.yaml" in needs["Table 5", "ML"]["needs"]
    page = (tmp_path / "mmstar.html").read_text()
    assert "Cells that were not measured" in page
    assert "Table 6: multi-modal gain" in page


def test_mmmu_pro_from_published_replies(shared: Path, tmp_path: Path) -> None:
    """Table 1 and Table 6 from the published runs: few options, ten, screenshots; direct and chain of thought."""
    lines = (shared / "data/mmmu_pro/items.jsonl").read_text().splitlines()[:150]
    items = [json.loads(line) for line in lines]
    for name, options, key in (("four", "options", "answer"), ("ten", "options10", "answer10")):
        with BenchmarkWriter(tmp_path / name, Manifest(name=name)) as writer:
            for item in items:
                right = ord(item[key]) - 65
                choices = tuple(Choice(str(text), place == right) for place, text in enumerate(item[options]))
                writer.add(Item(id=item["id"], question="?", choices=choices, tags={"subject": item["subject"]}))
    answers = pl.read_parquet(shared / "data/mmmu_pro/predictions.parquet").filter(
        pl.col("item_id").is_in([item["id"] for item in items]), pl.col("correct_derived").is_not_null()
    )
    whole = {"standard4": ("four", "image"), "standard10": ("ten", "image"), "vision10": ("ten", "screenshot")}
    rows: dict[str, list[dict[str, Any]]] = {"four": [], "ten": []}
    plain: dict[tuple[str, str, str], dict[str, float]] = {}
    for item, model, variant, ask, right in answers.select(
        "item_id", "model", "variant", "setting", "correct_derived"
    ).iter_rows():
        bench, modality = whole[variant]
        rows[bench].append({"item": item, "model": model, "modality": modality, "ask": ask, "given": float(right)})
        plain.setdefault((model, ask, variant), {})[item] = float(right)
    for bench, said in rows.items():
        write_lines(tmp_path / f"{bench}.jsonl", said)
        call(
            "import", tmp_path / f"{bench}.jsonl", "--bench", tmp_path / bench, "--to", tmp_path / f"run-{bench}"
        ).fine()
    tables, empty = written(tmp_path, "mmmu-pro", tmp_path / "run-four", tmp_path / "run-ten", keys=2)
    complete = [(m, a) for m, a, v in plain if v == "vision10" and {(m, a, w) for w in whole} <= plain.keys()]
    assert len(complete) >= 7
    for model, ask in complete:
        four, ten, vision = (plain[model, ask, variant] for variant in whole)
        shared_items = four.keys() & ten.keys() & vision.keys()
        scores = [100 * mean(side[item] for item in shared_items) for side in (four, ten, vision)]
        row = tables["table-1"][model, ask]
        found = [number(row[name]) for name in ("Standard (4)", "Standard (10)", "Vision", "Δ1", "Δ2", "Overall")]
        differences = [scores[1] - scores[0], scores[2] - scores[0], (scores[1] + scores[2]) / 2]
        assert found == pytest.approx(scores + differences)
        assert row["Original"] == ""
    chance = [100 * mean(1 / len(item[options]) for item in items) for options in ("options", "options10")]
    guess = tables["table-1"]["Random choice", ""]
    assert [number(guess["Standard (4)"]), number(guess["Standard (10)"])] == pytest.approx(chance)
    both = next(m for m, a, v in plain if v == "vision10" and a == "cot" and (m, "direct", v) in plain)
    subject = items[0]["subject"]
    (row,) = [row for (name, *_), row in tables["table-6"].items() if name == subject]
    mine = [item["id"] for item in items if item["subject"] == subject]
    cot, direct = (100 * mean(plain[both, ask, "vision10"][item] for item in mine) for ask in ("cot", "direct"))
    assert number(row[f"{both} difference"]) == pytest.approx(cot - direct)
    assert any(row["table"] == "Figure 7" and "review" in row["needs"] for row in empty)
    assert (tmp_path / "mmmu-pro/figure-5.svg").exists()


SKILLS = {"small": 0.3, "middle": 0.5, "large": 0.8}


def _choice_items(path: Path, ids: Iterable[str], **tags: str) -> Path:
    with BenchmarkWriter(path, Manifest(name=path.name)) as writer:
        for name in ids:
            choices = tuple(Choice(f"{name} {word}", word == "yes") for word in ("yes", "no", "maybe", "never"))
            writer.add(Item(id=name, question=f"Which of {name}?", choices=choices, tags=tags))
    return path


def test_lime_from_runs_on_the_sources(tmp_path: Path) -> None:
    """Runs on two tasks, and the refined tasks beside them, which were not asked: Tables 2, 3, 7."""
    rng, things = random.Random(7), list[Path]()
    right: dict[tuple[str, str], dict[str, float]] = {}
    kept = {"POPE": range(0, 10), "AI2D": range(0, 12, 2)}
    for task, size in (("POPE", 30), ("AI2D", 20)):
        ids = [f"{task}-{n}" for n in range(size)]
        bench = _choice_items(tmp_path / task, ids)
        small = _choice_items(tmp_path / f"{task}-lime", [ids[n] for n in kept[task]])
        rows = []
        for model, skill in SKILLS.items():
            for name in ids:
                score = float(rng.random() < skill)
                right.setdefault((model, task), {})[name] = score
                rows.append({"item": name, "model": model, "given": score})
        write_lines(tmp_path / f"{task}.jsonl", rows)
        call("import", tmp_path / f"{task}.jsonl", "--bench", bench, "--to", tmp_path / f"run-{task}").fine()
        things += [tmp_path / f"run-{task}", small]
    models = {name: {"spec": "scripted:right=1", "series": "owl", "size_b": 7} for name in SKILLS}
    elo = {"small": 900.0, "middle": 1000.0, "large": 1020.0}
    tables, empty = written(tmp_path, "lime", *things, keys=2, models=models, external=elo)
    overall: dict[str, list[float]] = {"refined": [], "original": []}
    for model in SKILLS:
        for version, scores in overall.items():
            chosen = {
                task: [
                    s for n, s in enumerate(right[model, task].values()) if version == "original" or n in kept[task]
                ]
                for task in kept
            }
            row = tables["table-2"][model, version]
            pooled = [score for own in chosen.values() for score in own]
            assert number(row["Overall"]) == pytest.approx(100 * mean(pooled))
            assert [number(row[task]) for task in kept] == pytest.approx([100 * mean(chosen[task]) for task in kept])
            scores.append(100 * mean(pooled))
    for version, scores in overall.items():
        row = tables["table-3"]["owl", version]
        assert number(row["stdev"]) == pytest.approx(stdev(scores))
        gaps = mean(abs(a - b) for a in scores for b in scores) / (2 * mean(scores))
        assert number(row["Gini"]) == pytest.approx(gaps)
    xs, ys = overall["refined"], [elo[model] for model in SKILLS]
    covariance = mean(x * y for x, y in zip(xs, ys, strict=True)) - mean(xs) * mean(ys)
    spread = (mean(x * x for x in xs) - mean(xs) ** 2) * (mean(y * y for y in ys) - mean(ys) ** 2)
    (last,) = [row for (name, _), row in tables["table-7"].items() if name == "correlation"]
    assert number(last["weighted"]) == pytest.approx(covariance / spread**0.5)
    assert {"seconds, tokens, cost"} <= {row["cells"] for row in empty if row["table"] == "Table 2"}


def test_what_a_refined_benchmark_saves(tmp_path: Path) -> None:
    """Asked for real: calls by the number of items, seconds and tokens as the journal has them."""
    ids = [f"q{n}" for n in range(20)]
    bench, small = _choice_items(tmp_path / "whole", ids), _choice_items(tmp_path / "part", ids[:5])
    models = {"m": {"spec": "scripted:right=0.5", "price": {"input": 2.0, "output": 4.0}}}
    et.run(bench, models=models, to=tmp_path / "run")
    tables, _ = written(tmp_path, "lime", tmp_path / "run", small)
    (row,) = tables["saved"].values()
    assert number(row["calls"]) == pytest.approx(75)
    spent = et.measure("cost", tmp_path / "run").frame.row(0, named=True)
    journal = et.open_run(tmp_path / "run").responses()
    assert spent["calls"] == 20
    assert spent["seconds"] == pytest.approx(sum(journal.column("seconds").to_pylist()) or None)
    tokens = [sum(filter(None, journal.column(f"tokens_{end}").to_pylist())) for end in ("in", "out")]
    assert (spent["tokens_in"], spent["tokens_out"]) == tuple(tokens)
    assert spent["cost"] == pytest.approx((2 * tokens[0] + 4 * tokens[1]) / 1e6)


def test_reform_eval_from_a_suite(tmp_path: Path) -> None:
    """Tables 4 and 6: four orders of the options, two groups of models; entropies from the letters that were said."""
    rng, ids = random.Random(4), [f"q{n}" for n in range(12)]
    bench = _choice_items(tmp_path / "bench", ids, dimension="CG", task="scene")
    groups = {"a": "~7B", "b": "~7B", "c": "Pro."}
    said = {
        (model, item): [rng.choice("AABC") if model != "c" else "A" for _ in range(4)]
        for model in groups
        for item in ids
    }
    rows = [
        {"item": item, "model": model, "template": number, "text": mark}
        for (model, item), marks in said.items()
        for number, mark in enumerate(marks)
    ]
    write_lines(tmp_path / "said.jsonl", rows)
    call("import", tmp_path / "said.jsonl", "--bench", bench, "--to", tmp_path / "run").fine()
    models = {name: {"spec": "scripted:right=1", "group": group, "size_b": 7} for name, group in groups.items()}
    suite = {"benchmarks": [{"runs": [str(tmp_path / "run")]}], "models": models, "by": ["model.group"]}
    (tmp_path / "suite.yaml").write_text(yaml.safe_dump(suite))
    tables = et.suite(tmp_path / "suite.yaml", to=tmp_path / "out").tables

    def entropy(marks: list[str]) -> float:
        return -sum(marks.count(m) / 4 * log(marks.count(m) / 4) for m in set(marks))

    (row,) = tables["table-6"].to_dicts()
    by_hand = mean(entropy(said[model, item]) for model in "ab" for item in ids)
    assert (row["source"], row["Gen. ~7B"], row["Gen. Pro."]) == ("instruction", pytest.approx(by_hand), 0.0)
    accuracy = {model: 100 * mean(m == "A" for item in ids for m in said[model, item]) for model in groups}
    for row in tables["table-4"].iter_rows(named=True):
        assert row["Gen. CG"] == pytest.approx(accuracy[row["model"]])
    ranks = dict(tables["table-4"].select("model", "Gen. R").iter_rows())
    assert ranks == {name: 1 + sum(other > own for other in accuracy.values()) for name, own in accuracy.items()}
    (pair,) = tables["differences-by-model.group"].to_dicts()
    assert (pair["a"], pair["b"]) == ("Pro.", "~7B")
    assert pair["difference"] == pytest.approx(1 - (accuracy["a"] + accuracy["b"]) / 200)
    again, _ = written(tmp_path, "reform-eval", tmp_path / "run", models=models)
    assert number(again["table-4"][("a",)]["Gen. CG"]) == pytest.approx(accuracy["a"])
    assert again["table-4"][("a",)]["Lik. CG"] == ""
    page = tmp_path / "groups.html"
    et.report(tmp_path / "run", page=page, models=models, by="model.group")
    assert "Paired differences by model.group" in page.read_text()


def test_a_paper_of_ones_own_and_wrong_ones(tmp_path: Path) -> None:
    own = {
        "title": "Mine",
        "tables": {"t": {"title": "T", "blocks": [{"measure": "accuracy", "values": {"accuracy": "A"}}]}},
    }
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(own))
    assert list(read_paper(path).tables) == ["t"]
    assert papers() == ["lime", "mmmu-pro", "mmstar", "reform-eval"]
    with pytest.raises(InputError, match='did you mean "mmstar"'):
        read_paper("mmstr")
    path.write_text(yaml.safe_dump(own | {"tabels": {}}))
    with pytest.raises(InputError, match="tables"):
        read_paper(path)
