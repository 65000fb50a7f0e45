"""``python -m tools.gallery.errata``: do items whose keys people corrected later lead the list of label errors?

For test sets whose keys were corrected, and for which answers of several models are public: precision among the top
1, 2 and 5 % of items by `eyetest measure wrong-golds`, a plain count of the models against the key, Dawid–Skene and
cleanlab, all before the correction. Sources are git directories, OWNER+NAME/repo, in EYETEST_SOURCES.
"""

import ast
import csv
import io
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from eyetest.measures.stats.consensus import recurring, suspicion

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
ROOT = Path(__file__).parent.parent.parent
SOURCES = Path(os.environ.get("EYETEST_SOURCES", ROOT.parent / "sources"))
TOP = (0.01, 0.02, 0.05)
DRAWS = 1_000
COMMITS = {
    "DFKI-NLP/tacrev": "2252b8e4b1bce71499ebca2322a894af2b7b3f9e",
    "aryopg/mmlu-redux": "4563cfa79b659d76716e5b6019f46bba85fa02db",
    "jsbaan/calibration-on-disagreement-data": "990e81cacadac5d0268160d1c02bad19d4ddb9a3",
    "YanNeu/RePOPE": "bcf22e5690d587cce34e1728af3efdcfaf747d29",
    "yfzhang114/LLaVA-Align": "dfbecfa7ac72c12dc6faf8ad7113a1b9a174101a",
    "GuangzhiSu/SmoothGuard": "03548885a829f65a16928f753ff2e25a3e5e0036",
}


class Corrected(NamedTuple):
    """Answers of models, the keys they were scored with, and whether each key was corrected later."""

    chosen: Ints  # items × models, −1 where unread
    keys: Ints
    texts: list[list[str]]
    wrong: NDArray[np.bool_]

    @property
    def number(self) -> Ints:
        """Options of each item."""
        return np.array([len(own) for own in self.texts])


def show(repository: str, path: str) -> str:
    """A file of a source at its pinned commit."""
    folder = SOURCES / repository.replace("/", "+") / "repo"
    command = ["git", "-C", str(folder), "show", f"{COMMITS[repository]}:{path}"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout  # noqa: S603


def tacred(split: str) -> Corrected:
    """TACRED with the answers of 49 models; 5,000 items were revised by linguists (Alt et al. 2020)."""
    source = "DFKI-NLP/tacrev"
    answers: dict[str, dict[str, str]] = {}
    keys: dict[str, str] = {}
    for file in show(source, f"results/{split}_results").splitlines():
        if file.endswith(".jsonl"):
            rows = [json.loads(line) for line in show(source, f"results/{split}_results/{file}").splitlines()]
            answers[file] = {row["id"]: row["label_pred"] for row in rows}
            keys |= {row["id"]: row["label_true"] for row in rows}
    revised = {row["id"]: row["relation"] for row in json.loads(show(source, f"patch/{split}_patch.json"))}
    labels = sorted(
        {*keys.values(), *revised.values(), *(label for own in answers.values() for label in own.values())}
    )
    places = {label: place for place, label in enumerate(labels)}
    chosen = [[places.get(own.get(item, ""), -1) for own in answers.values()] for item in keys]
    return Corrected(
        np.array(chosen),
        np.array([places[key] for key in keys.values()]),
        [labels] * len(keys),
        np.array([revised.get(item, key) != key for item, key in keys.items()]),
    )


def mmlu() -> Corrected:
    """MMLU with the answers of 14 models; 5,700 items were checked by experts (Gema et al. 2024)."""
    rows = list(csv.DictReader(io.StringIO(show("aryopg/mmlu-redux", "outputs/multi_expert_helm/all.csv"))))
    columns = list(rows[0])
    models = columns[columns.index("error_type") + 1 : columns.index("majority_llm_pred_top_3")]
    chosen = [["ABCD".find(row[model][:1] or "?") for model in models] for row in rows]
    texts = [[str(text) for text in ast.literal_eval(row["choices"])] for row in rows]
    keys = np.array([int(row["groundtruth_answer"]) for row in rows])
    return Corrected(
        np.array(chosen), keys, texts, np.array([row["error_type"] == "wrong_groundtruth" for row in rows])
    )


def nli(name: str, file: str) -> Corrected:
    """SNLI and MNLI with fine-tuned models; 100 people judged each of these items again (Nie et al. 2020)."""
    source, folder = "jsbaan/calibration-on-disagreement-data", "data/predictions"
    again = {
        row["uid"]: row
        for row in map(json.loads, show(source, f"data/chaosNLI_v1.0/chaosNLI_{file}.jsonl").splitlines())
    }
    answers: dict[str, dict[str, int]] = {}
    keys: dict[str, int] = {}
    for path in show(source, folder).splitlines():
        if path.startswith(name):
            own = answers.setdefault(path.split("_", 2)[2], {})
            for row in map(json.loads, show(source, f"{folder}/{path}").splitlines()):
                if row["uid"] in again:
                    own[row["uid"]], keys[row["uid"]] = row["pred"], row["true"]
    pairs = Counter((again[item]["old_label"], key) for item, key in keys.items())
    places = {label: key for (label, key), _ in reversed(pairs.most_common())}
    items = [item for item in keys if all(item in own for own in answers.values())]
    return Corrected(
        np.array([[own[item] for own in answers.values()] for item in items]),
        np.array([keys[item] for item in items]),
        [["entailment", "neutral", "contradiction"]] * len(items),
        np.array([places[again[item]["majority_label"]] != keys[item] for item in items]),
    )


def pope(split: str) -> Corrected:
    """POPE with five runs of three models; all items were labelled again (Neuhaus and Hein 2025)."""
    before = _rows("YanNeu/RePOPE", f"annotations/coco_pope_{split}.json")
    after = {_pair(row): row["label"] for row in _rows("YanNeu/RePOPE", f"annotations/coco_repope_{split}.json")}
    asked = _rows("GuangzhiSu/SmoothGuard", "image_eval/pope/llava_pope_test.jsonl")
    names = {row["question_id"]: (row["image"], _object(row["text"])) for row in asked if row["category"] == split}
    files = [("yfzhang114/LLaVA-Align", "experiments/llava/eval/pope/answers/llava-v1.5-13b.jsonl")] + [
        ("GuangzhiSu/SmoothGuard", f"image_eval/pope/answers/{folder}/{file}-{kind}.jsonl")
        for folder, file in (("llava_on_pope", "llava-Instruct"), ("qwen_on_pope", "Qwen2.5-VL-7B-Instruct"))
        for kind in ("normal", "new")
    ]
    runs = [
        {names[row["question_id"]]: row["text"] for row in _rows(*file) if row["question_id"] in names}
        for file in files
    ]
    chosen = [[_yes_no(run.get(_pair(row), "")) for run in runs] for row in before]
    labels = [row["label"] for row in before]
    keys = np.array([("yes", "no").index(label) for label in labels])
    wrong = np.array([after.get(_pair(row), label) != label for row, label in zip(before, labels, strict=True)])
    return Corrected(np.array(chosen), keys, [["Yes", "No"]] * len(keys), wrong)


def _rows(source: str, path: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in show(source, path).splitlines() if line.strip()]


def _pair(row: dict[str, str]) -> tuple[str, str]:
    return row["image"], _object(row["text"])


def _object(question: str) -> str:
    return question.split(" in the im", 1)[0].strip().lower()


def _yes_no(reply: str) -> int:
    word = reply.strip().lower()
    return 0 if word.startswith("yes") else 1 if word.startswith("no") else -1


def votes(data: Corrected) -> Floats:
    """Items × options: how many models chose it; −1 beyond an item's options."""
    places = np.arange(data.number.max())
    counts = np.stack([(data.chosen == place).sum(axis=1) for place in places], axis=1)
    return np.where(places < data.number[:, None], counts, -1.0)


def by_measure(data: Corrected) -> Floats:
    """The order of ``eyetest measure wrong-golds``."""
    return suspicion(data.chosen, data.number, data.keys, recurring(data.texts)).ratios


def by_count(data: Corrected) -> Floats:
    """Models against the key, ties by the votes of the leading other option."""
    counts, items = votes(data), np.arange(len(data.keys))
    own = counts[items, data.keys].copy()
    counts[items, data.keys] = -1
    return np.asarray((data.chosen >= 0).sum(axis=1) - own + counts.max(axis=1) / 1_000)


def by_dawid_skene(data: Corrected, rounds: int = 30) -> Floats:
    """One accuracy a model, wrong answers uniform; log odds against the key."""
    items, number = np.arange(len(data.keys)), data.number
    closed = np.arange(number.max()) >= number[:, None]
    truth, logs = np.where(closed, 0.0, votes(data) + 0.1), np.zeros(closed.shape)
    for _ in range(rounds):
        truth /= truth.sum(axis=1, keepdims=True)
        logs = np.where(closed, -np.inf, 0.0)
        for model in data.chosen.T:
            read = np.flatnonzero(model >= 0)
            right = (truth[read, model[read]].sum() + 1) / (len(read) + 2)
            wrong = np.log((1 - right) / (number[read] - 1))
            logs[read] += wrong[:, None]
            logs[read, model[read]] += np.log(right) - wrong
        truth = np.exp(logs - logsumexp(logs, axis=1, keepdims=True))
    others = logs.copy()
    others[items, data.keys] = -np.inf
    return np.asarray(logsumexp(others, axis=1) - logs[items, data.keys])


def by_cleanlab(data: Corrected) -> Floats:
    """Normalised margin of the key, with shares of votes as predicted probabilities."""
    rank = import_module("cleanlab.rank")  # not in the lock
    shares = np.maximum(votes(data) + 0.5, 0.0)
    quality = rank.get_label_quality_scores(
        data.keys, shares / shares.sum(axis=1, keepdims=True), method="normalized_margin"
    )
    return -np.asarray(quality, np.float64)


def precision(scores: Floats, wrong: NDArray[np.bool_], top: float) -> float:
    """Share of corrected items in the top share; ties count as if drawn at random."""
    size = max(round(top * len(wrong)), 1)
    threshold = np.sort(scores)[-size]
    above, tied = scores > threshold, scores == threshold
    return float((wrong[above].sum() + (size - above.sum()) * wrong[tied].mean()) / size)


MACHINES: dict[str, Callable[[], Corrected]] = {
    "MMLU (MMLU-Redux)": mmlu,
    "TACRED test (TACREV)": lambda: tacred("test"),
    "TACRED dev (TACREV)": lambda: tacred("dev"),
    "SNLI (ChaosNLI)": lambda: nli("SNLI", "snli"),
    "MNLI (ChaosNLI)": lambda: nli("MNLI", "mnli_m"),
    "POPE random (RePOPE)": lambda: pope("random"),
    "POPE popular (RePOPE)": lambda: pope("popular"),
    "POPE adversarial (RePOPE)": lambda: pope("adversarial"),
}
METHODS = {"eyetest": by_measure, "count": by_count, "Dawid–Skene": by_dawid_skene, "cleanlab": by_cleanlab}


def figures(data: Corrected) -> dict[str, Any]:
    """Precision of each method, and the difference to the best other one at 2 % with an interval over items."""
    scores = {name: method(data) for name, method in METHODS.items()}
    found = {name: [round(precision(own, data.wrong, top), 3) for top in TOP] for name, own in scores.items()}
    best = max((name for name in found if name != "eyetest"), key=lambda name: found[name][1])
    rng = np.random.default_rng(0)
    differences = []
    for _ in range(DRAWS):
        drawn = rng.integers(0, len(data.wrong), len(data.wrong))
        pair = [precision(scores[name][drawn], data.wrong[drawn], TOP[1]) for name in ("eyetest", best)]
        differences.append(pair[0] - pair[1])
    low, high = np.quantile(differences, [0.025, 0.975])
    return {
        "items": len(data.keys),
        "models": data.chosen.shape[1],
        "corrected": int(data.wrong.sum()),
        "precision": found,
        "best": best,
        "difference": [round(float(low), 3), round(float(high), 3)],
    }


def page(done: dict[str, dict[str, Any]]) -> str:
    """The figures as a page of the gallery."""
    lines = [
        "# Label errors that people corrected later",
        "",
        "Of the top 2 % of items by suspicion, the share whose key was corrected afterwards. Answers and corrections",
        "are public; every order uses the answers and the old keys alone. Ties count as if drawn at random.",
        "",
        f"|  | items | models | corrected | {' | '.join(METHODS)} | eyetest − best other, 95 % |",
        "| --- | --: | --: | --: | " + "--: | " * len(METHODS) + "--: |",
    ]
    for name, own in done.items():
        shares = " | ".join(f"{own['precision'][method][1]:.3f}" for method in METHODS)
        low, high = own["difference"]
        counts = f"{own['items']:,} | {own['models']} | {own['corrected']:,}"
        lines.append(f"| {name} | {counts} | {shares} | [{low:+.3f}, {high:+.3f}] |")
    lines += [
        "",
        "- MMLU: 14 language models, keys checked by experts. TACRED: 49 relation extractors; linguists revised the",
        "  5,000 items on which these models disagree most with the keys. SNLI, MNLI: five and three fine-tuned",
        "  models; 100 people judged items on which the first five annotators disagreed. POPE: five runs of three",
        "  models; the three files share their positive items.",
        "- The measure's two parts were chosen with the other files in view; its figure on TACRED dev came last.",
        "- Few test sets of vision-language models have corrections and public answers: POPE is the only one here.",
        "",
        "`python -m tools.gallery.errata` (with cleanlab installed) writes this page from the repositories it names;",
        "[errata.json](errata.json) has the top 1, 2 and 5 %.",
        "",
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure all, and write docs/gallery/errata.json and errata.md."""
    done: dict[str, dict[str, Any]] = {}
    for name, read in MACHINES.items():
        try:
            data = read()
        except (OSError, subprocess.CalledProcessError):
            print(f"{name}: no source in {SOURCES}", file=sys.stderr)
            continue
        done[name] = figures(data)
        print(name, done[name], flush=True)
    to = ROOT / "docs/gallery"
    (to / "errata.json").write_text(json.dumps(done, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (to / "errata.md").write_text(page(done), "utf-8")


if __name__ == "__main__":
    main()
