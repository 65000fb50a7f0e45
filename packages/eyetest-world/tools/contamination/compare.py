"""``python -m contamination.compare DATA HALF``: tests of contamination side by side on one half of the models."""

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import scipy
from numpy.typing import NDArray

from eyetest.measures.stats import memorization
from eyetest.measures.stats.clean_models import EditionColumns, compare_with_clean

Floats = NDArray[np.float64]
_STEP, _OPTIONS, _TWINS = -0.05, 4, 3
_DRAWS = 2_000
_LEVEL = 0.95
_ALPHA = 0.01
_REFERENCES, _CHOOSERS, _SPLITS = 20, 30, 5


class Half:
    """The answers of one half of the models."""

    def __init__(self, folder: Path, half: str) -> None:
        declared = json.loads((folder / "declared.json").read_text())
        self.models = [model for model in declared["models"] if model["half"] == half]
        letters, texts = (pl.read_parquet(folder / f"{name}-{half}.parquet") for name in ("letters", "texts"))
        self.names = [model["name"] for model in self.models]
        self._letters = {name: letters.get_column(name).to_numpy().reshape(-1, _OPTIONS) for name in self.names}
        self._texts = {name: texts.get_column(name).to_numpy().reshape(-1, 2, 2) for name in self.names}
        self.questions = pl.read_parquet(folder / "questions.parquet").with_row_index("row")
        self.count = self.questions.get_column("family").n_unique()

    def _rows(self, edition: str, *, image: bool, as_written: bool = True) -> pl.DataFrame:
        of = (pl.col("edition") == edition) & (pl.col("image") == image) & (pl.col("as_written") == as_written)
        return self.questions.filter(of).sort("family", "row")

    def logs(self, model: str, edition: str, *, image: bool, as_written: bool = True) -> Floats:
        """Log-likelihoods of the four letters, in the order of families."""
        rows = self._rows(edition, image=image, as_written=as_written).get_column("row").to_numpy()
        return self._letters[model][rows] * _STEP

    @cached_property
    def golds(self) -> NDArray[np.int64]:
        """Letters of the answer keys of original and twins: families × four."""
        editions = ("original", *(f"twin-{number}" for number in range(1, _TWINS + 1)))
        return np.stack([self._rows(one, image=False).get_column("gold").to_numpy() for one in editions], axis=1)

    @cached_property
    def fresh_gold(self) -> NDArray[np.int64]:
        """Letters of the answer keys of fresh items."""
        return self._rows("fresh", image=False).get_column("gold").to_numpy()

    @cached_property
    def reordered_gold(self) -> NDArray[np.int64]:
        """Letters of the answer keys of originals in three other orders: families × three."""
        return self._rows("original", image=True, as_written=False).get_column("gold").to_numpy().reshape(-1, 3)

    def held(self, model: str) -> tuple[Floats, Floats]:
        """Probabilities without the image of the keys of original and twins, and of the fresh item's key."""
        both = np.concatenate([self.logs(model, one, image=False) for one in ("original", "fresh")])
        shares = memorization.without_letters(both)
        own = memorization.without_letters(both[: self.count])
        fresh = shares[self.count :][np.arange(self.count), self.fresh_gold]
        return np.take_along_axis(own, self.golds, axis=1), fresh

    def text(self, model: str) -> Floats:
        """Log-likelihood of the key's words: families × (original, fresh) × (whole, least likely token)."""
        return self._texts[model] * _STEP


def _normalised(logs: Floats) -> Floats:
    return np.asarray(scipy.special.log_softmax(logs, axis=1))


def twin_test(half: Half, model: str) -> float:
    """The test of eyetest: fourth power of the key's probability without the image."""
    return memorization.redrawn(half.held(model)[0] ** 4, _DRAWS, 0).p


def log_likelihood(half: Half, model: str) -> float:
    """The same with the logarithm."""
    return memorization.redrawn(np.log(half.held(model)[0]), _DRAWS, 0).p


def no_image_hits(half: Half, model: str) -> float:
    """The key is the likeliest letter without the image."""
    best = half.logs(model, "original", image=False).argmax(axis=1)
    return memorization.redrawn((half.golds == best[:, None]).astype(float), _DRAWS, 0).p


def on_twins(half: Half, model: str) -> float:
    """Answers with the image: a key on its own image, times the squared share of the others on which it is given."""
    editions = ("original", *(f"twin-{number}" for number in range(1, _TWINS + 1)))
    chosen = np.stack([half.logs(model, one, image=True).argmax(axis=1) for one in editions], axis=1)
    given = (chosen[:, :, None] == half.golds[:, None, :]).astype(float)  # families × images × keys
    own = np.einsum("fee->fe", given)
    others = (given.sum(axis=1) - own) / _TWINS
    return memorization.redrawn(own * others**2, _DRAWS, 0).p


def fresh_drop(half: Half, model: str) -> float:
    """Accuracy on originals less that on fresh items, with the image."""
    original = half.logs(model, "original", image=True).argmax(axis=1) == half.golds[:, 0]
    fresh = half.logs(model, "fresh", image=True).argmax(axis=1) == half.fresh_gold
    return float(scipy.stats.ttest_1samp(original.astype(float) - fresh, 0, alternative="greater").pvalue)


def min_k(half: Half, model: str) -> float:
    """Min-K %: the least likely token of the key's words, on originals less fresh items."""
    least = half.text(model)[:, :, 1]
    return float(scipy.stats.ttest_1samp(least[:, 0] - least[:, 1], 0, alternative="greater").pvalue)


def option_order(half: Half, model: str) -> float:
    """Exchangeability: log-likelihood of the key in the benchmark's order of options against three other orders."""
    written = _normalised(half.logs(model, "original", image=True))
    others = _normalised(half.logs(model, "original", image=True, as_written=False)).reshape(-1, 3, _OPTIONS)
    own = np.take_along_axis(written, half.golds[:, :1], axis=1)
    rest = np.take_along_axis(others, half.reordered_gold[:, :, None], axis=2)[:, :, 0]
    return memorization.redrawn(np.concatenate([own, rest], axis=1), _DRAWS, 0).p


TESTS: dict[str, Callable[[Half, str], float]] = {
    "p⁴ (eyetest)": twin_test,
    "log-likelihood": log_likelihood,
    "own × others²": on_twins,
    "no-image hits": no_image_hits,
    "originals − fresh": fresh_drop,
    "Min-K %": min_k,
    "option order": option_order,
}


def _cell(model: dict[str, Any]) -> str:
    if model["group"] != "contaminated":
        return "clean" if model["group"] == "clean" else "look guilty"
    return f"{len(model['items']) / 9:.1f} % × {model['exposure']}"


def cells_of(half: Half) -> dict[str, list[int]]:
    """Models by group, share of items and exposures."""
    cells: dict[str, list[int]] = {}
    for index, model in sorted(enumerate(half.models), key=lambda one: (len(one[1]["items"]), one[1]["exposure"])):
        cells.setdefault(_cell(model), []).append(index)
    return cells


def rivals(half: Half) -> pl.DataFrame:
    """Share of models found by each test: at p < .01, and at a threshold that 1 of 100 clean models passes."""
    ps = {name: np.array([test(half, model) for model in half.names]) for name, test in TESTS.items()}
    cells = cells_of(half)
    rows = []
    for cell, where in cells.items():
        row: dict[str, Any] = {"models": cell, "n": len(where)}
        for name, values in ps.items():
            row[name] = float((values[where] < _ALPHA).mean())
            allowed = np.sort(values[cells["clean"]])[1]  # one clean model is below it
            row[f"{name} at 1 of 100"] = float((values[where] < allowed).mean())
        rows.append(row)
    clean = ps["p⁴ (eyetest)"][cells["clean"]]
    print(
        "uniform:",
        {name: round(float(scipy.stats.kstest(p[cells["clean"]], "uniform").pvalue), 3) for name, p in ps.items()},
    )
    print(f"clean below .01: {(clean < _ALPHA).sum()} of {len(clean)}")
    kinds = {model["group"] for model in half.models} - {"clean", "contaminated"}
    for kind in sorted(kinds):
        own = ps["p⁴ (eyetest)"][[index for index, model in enumerate(half.models) if model["group"] == kind]]
        print(f"{kind}: {(own < _ALPHA).sum()} of {len(own)} below .01, smallest p {own.min():.4f}")
    return pl.DataFrame(rows)


def doses(half: Half) -> pl.DataFrame:
    """Coverage of the dose's interval, and the smallest detectable dose, by exposures."""
    rows = []
    for model in half.models:
        held = half.held(model["name"])[0]
        null = memorization.redrawn(held**4, _DRAWS, 0)
        found = memorization.dose(held, np.full(half.count, 1 / _OPTIONS), _LEVEL, null.p)
        value, low, high = (float(part or 0) for part in found[:3])
        seen = model["group"] == "contaminated"
        truth = len(model["items"]) / half.count if seen else 0.0
        sizes = np.full(half.count, float(_OPTIONS))
        rows.append(
            {
                "group": "contaminated" if seen else model["group"] if model["group"] == "clean" else "look guilty",
                "exposures": model["exposure"] if seen else 0,
                "covered": low <= truth <= high,
                "low is below": low <= truth,
                "error": abs(value - truth),
                "high": high,
                "detectable": memorization.detectable(null, sizes, memorization.REMEMBERED**4),
                "detectable_half": memorization.detectable(null, sizes, memorization.HALF**4),
            }
        )
    by = (
        pl.DataFrame(rows).group_by("group", "exposures").agg(pl.len(), pl.all().exclude("group", "exposures").mean())
    )
    return by.sort("group", "exposures")


class Twins(NamedTuple):
    """Twins that are not exact; ``members``: from strengths of a family and of its fresh item to those kept."""

    name: str
    members: Callable[[Floats, Floats], Floats]
    by_choosers: bool = False


def imperfect(half: Half, choosers: list[int], held: list[tuple[Floats, Floats]]) -> Iterator[Twins]:
    """Fresh items in place of twins, one twin alone, and the twins whose keys ``choosers`` hold least."""
    yield Twins("exact", lambda own, _: own)
    for share in (1 / 3, 2 / 3):
        swapped = np.random.default_rng(5).random((half.count, _TWINS)) < share

        def replaced(own: Floats, fresh: Floats, swapped: NDArray[np.bool_] = swapped) -> Floats:
            return np.concatenate([own[:, :1], np.where(swapped, fresh[:, None], own[:, 1:])], axis=1)

        yield Twins(f"{share:.0%} of twins are fresh items", replaced)
    yield Twins("a fresh item alone", lambda own, fresh: np.stack([own[:, 0], fresh], axis=1))
    yield Twins("one twin", lambda own, _: own[:, :2])
    preferred = np.mean([np.log(held[index][0]) for index in choosers], axis=0)[:, 1:]
    order = np.argsort(preferred, axis=1) + 1
    for kept in (2, 1):

        def hardest(own: Floats, _: Floats, kept: int = kept) -> Floats:
            return np.concatenate([own[:, :1], np.take_along_axis(own, order[:, :kept], axis=1)], axis=1)

        yield Twins(f"the {kept} least plausible", hardest, by_choosers=True)


def p_beside_clean(
    values: Sequence[Floats], references: Sequence[int], tested: int, *, likelihoods: bool = True
) -> float | None:
    """The p of one model relative to some clean ones; None outside their range of ability."""
    held = np.stack([values[number] for number in (*references, tested)])
    families, size = held.shape[1:]
    members = EditionColumns(np.repeat(np.arange(families), size), np.tile(np.arange(size) == 0, families))
    return compare_with_clean(held.reshape(len(held), -1), members, None, likelihoods=likelihoods).p


def uniformity(half: Half) -> pl.DataFrame:
    """Are the p-values of clean models uniform? The null distribution of the Kolmogorov–Smirnov statistic is joint:
    which edition is the original is drawn anew for all models at once, since they share one draw of answer keys.
    """
    clean = cells_of(half)["clean"]
    strengths = np.stack([half.held(half.names[index])[0] ** 4 for index in clean])
    rng, families = np.random.default_rng(0), np.arange(half.count)
    originals = rng.integers(0, 1 + _TWINS, (_DRAWS, half.count))
    originals[0] = 0  # the first draw is the truth
    sums = np.stack([strength[families, originals].sum(axis=1) for strength in strengths])
    p = scipy.stats.rankdata(-sums, method="max", axis=1) / _DRAWS
    uniform = scipy.stats.uniform.cdf
    statistics = np.array([scipy.stats.ks_1samp(column, uniform).statistic for column in p.T])
    alone = float(scipy.stats.ks_1samp(p[:, 0], uniform).pvalue)
    joint = float((statistics >= statistics[0] - 1e-12).mean())
    return pl.DataFrame({"models": [len(clean)], "statistic": statistics[:1], "p alone": [alone], "p joint": [joint]})


def calibration(half: Half) -> pl.DataFrame:
    """Share of models below .01 with imperfect twins, by the exact test and relative to twenty clean models, over
    random splits of the clean models into choosers, references and models that are tested.
    """
    held = [half.held(model) for model in half.names]
    cells = cells_of(half)
    rng = np.random.default_rng(0)
    rows: list[dict[str, Any]] = []
    tested_once: dict[str, list[memorization.Redrawn]] = {}
    for _ in range(_SPLITS):
        clean = rng.permutation(cells["clean"]).tolist()
        choosers, references = clean[:_CHOOSERS], clean[_CHOOSERS : _CHOOSERS + _REFERENCES]
        for twins in imperfect(half, choosers, held):
            nulls = tested_once.get(twins.name) or [
                memorization.redrawn(twins.members(*one) ** 4, 500, 0) for one in held
            ]
            if not twins.by_choosers:
                tested_once[twins.name] = nulls
            values = [twins.members(*model) for model in held]
            for cell, where in cells.items():
                tested = [index for index in where if index not in {*choosers, *references}]
                found = [p_beside_clean(values, references, index) for index in tested]
                exact = float(np.mean([nulls[index].p < _ALPHA for index in tested]))
                relative = float(np.mean([p is not None and p < _ALPHA for p in found]))
                rows.append({"twins": twins.name, "models": cell, "exact": exact, "relative": relative})
    means = pl.DataFrame(rows).group_by("twins", "models", maintain_order=True).mean()
    kept = (
        "clean",
        "look guilty",
        "1.0 % × 30",
        "2.0 % × 10",
        "2.0 % × 30",
        "5.0 % × 10",
        "10.0 % × 3",
        "10.0 % × 10",
    )
    return means.filter(pl.col("models").is_in(kept))


PARTS: dict[str, Callable[[Half], pl.DataFrame]] = {
    "rivals": rivals,
    "uniformity": uniformity,
    "doses": doses,
    "calibration": calibration,
}


def main() -> None:
    """Print the tables of one half."""
    parser = argparse.ArgumentParser(prog="python -m contamination.compare")
    parser.add_argument("data", type=Path)
    parser.add_argument("half", choices=("open", "sealed"))
    parser.add_argument("--part", nargs="+", choices=PARTS, default=list(PARTS))
    chosen = parser.parse_args()
    half = Half(chosen.data, chosen.half)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=400, float_precision=4, fmt_str_lengths=40):
        for part in chosen.part:
            print(PARTS[part](half))


if __name__ == "__main__":
    main()
