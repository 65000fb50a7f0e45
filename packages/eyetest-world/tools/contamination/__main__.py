"""``python -m contamination``: train the declared models of some trunks and store their answers."""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from eyetest_world.toy_models.cards import weights as weights_file
from eyetest_world.toy_models.network import Tokens
from torch import Tensor
from toy_training.network import Network
from toy_training.plan import PLAN, read_plan

from contamination import bridge, declare, rows
from contamination.training import Store, ask, learn, look, weigh
from contamination.trunks import as_stacked, restored

_STEP = 0.05
"""Log-likelihoods are stored in bytes, in steps of so much."""
_CHUNK = 96


class Material:
    """Everything that models learn from and are asked, the same for all trunks."""

    def __init__(self, chosen: argparse.Namespace) -> None:
        self.tokens = Tokens(json.loads(weights_file("tokens.json").read_text()))
        self.families = declare.families(chosen.items)
        self.models = [one for one in declare.models(chosen.items) if one.trunk in chosen.trunks]
        scenes = rows.spread(partial(rows.fresh_scene, self.tokens), range(chosen.scenes), chosen.workers)
        texts = rows.spread(partial(rows.text, self.tokens), range(chosen.texts), chosen.workers)
        leaks = rows.spread(partial(rows.exposures, self.tokens, self.families), self.models, chosen.workers)
        self.images = rows.spread(rows.drawn, rows.images(self.families), chosen.workers)
        first = len(self.images)
        self.images += [image for image, _ in scenes]
        listed = [(written, first + at) for at, (_, pair) in enumerate(scenes) for written in pair]
        self.fresh = len(listed)
        listed += [(text, -1) for text in texts]
        self.texts = len(listed)
        self.exposures: dict[str, list[tuple[int, bool]]] = {}
        for model, leaked in zip(self.models, leaks, strict=True):
            self.exposures[model.name] = [(len(listed) + at, one.image is not None) for at, one in enumerate(leaked)]
            listed += [(one.written, self._numbered(one.image)) for one in leaked]
        self.rows = rows.Rows.of(listed)
        self.asked = list(self._bridge(chosen.bridge, chosen.workers) if chosen.bridge else self._questions())

    def _numbered(self, image: int | rows.Array | None) -> int:
        if image is None or isinstance(image, int):
            return -1 if image is None else image
        self.images.append(image)
        return len(self.images) - 1

    def _questions(self) -> Iterator[rows.Asked]:
        for one in rows.questions(self.families):
            family, at = self.families[one.family], one.family * declare.EDITIONS + one.edition
            made = (family.original, *family.twins, family.fresh)[one.edition]
            yield rows.asked(self.tokens, rows.item_of(made, one.order), at if one.image else -1)

    def _bridge(self, twins: Path, workers: int) -> Iterator[rows.Asked]:
        """Without the image each original and the texts of its twins; then with the image originals, and the exact
        twins in another style.
        """
        originals = [rows.item_of(one.original, one.order) for one in self.families]
        for original, own in zip(originals, bridge.stored(twins), strict=True):
            texts = [rows.item(*text) for kind in bridge.KINDS for text in own[kind]]
            yield from (rows.asked(self.tokens, one, -1) for one in (original, *texts))
        drafts = [twin for family in self.families for twin in family.twins]
        redrawn = iter(rows.spread(bridge.restyled, drafts, workers))
        for index, original in enumerate(originals):
            images = (index * declare.EDITIONS, *(next(redrawn) for _ in range(declare.TWINS)))
            yield from (rows.asked(self.tokens, original, self._numbered(image)) for image in images)

    def plans(self, models: Sequence[declare.Model], steps: int, seen: int, read: int) -> tuple[Tensor, Tensor]:
        """Which rows each model sees at each step: fresh ones, and its exposures at places drawn at random."""
        both = []
        for with_image, count, (low, high) in (
            (True, seen, (0, self.fresh)),
            (False, read, (self.fresh, self.texts)),
        ):
            plan = np.zeros((steps, len(models), count), np.int64)
            for column, model in enumerate(models):
                dice = np.random.default_rng([declare.SEED, with_image, *model.name.encode()])
                plan[:, column] = dice.integers(low, high, (steps, count))
                leaked = [row for row, image in self.exposures[model.name] if image == with_image]
                places = dice.choice(steps * count, len(leaked), replace=False)
                plan[places // count, column, places % count] = leaked
            both.append(torch.from_numpy(plan))
        return both[0], both[1]


def main() -> None:
    """Train and ask, trunk by trunk."""
    parser = argparse.ArgumentParser(prog="python -m contamination")
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--trunks", nargs="+", default=list(declare.TRUNKS))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--items", type=int, default=declare.ITEMS)
    parser.add_argument("--scenes", type=int, default=24_000)
    parser.add_argument("--texts", type=int, default=16_000)
    parser.add_argument("--steps", type=int, default=900)
    parser.add_argument("--seen", type=int, default=8)
    parser.add_argument("--read", type=int, default=8)
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--most", type=int, default=1000, help="models of a trunk, for a trial")
    parser.add_argument("--bridge", type=Path, help="ask these twins that are not exact, and nothing else")
    parser.add_argument("--seed", type=int, default=declare.SEED, help="another one for a trial")
    chosen = parser.parse_args()
    declare.SEED = chosen.seed
    begun = time.monotonic()
    material = Material(chosen)
    print(
        f"{time.monotonic() - begun:.0f} s: {len(material.images)} images, {len(material.rows.starts)} rows",
        flush=True,
    )
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    plan = read_plan(PLAN)
    images = torch.from_numpy(np.stack(material.images)).permute(0, 3, 1, 2).contiguous().to(device)
    for trunk in chosen.trunks:
        network = restored(trunk, plan.size_of(trunk), material.tokens.size).to(device)
        models = [one for one in material.models if one.trunk == trunk][: chosen.most]
        tokens, lines, starts, shown = (torch.from_numpy(part).to(device) for part in material.rows)
        store = Store(tokens, lines, starts, shown, look(network, images))
        weights = as_stacked(network, len(models), device)
        found: dict[str, Any] = {"trunk": _bytes(letters(material, network, as_stacked(network, 1, device), store))}
        print(f"{time.monotonic() - begun:.0f} s: {trunk}, {len(models)} models", flush=True)
        parts = material.plans(models, chosen.steps, chosen.seen, chosen.read)
        history = learn(network, weights, store, (parts[0].to(device), parts[1].to(device)), chosen.rate)
        print(f"{time.monotonic() - begun:.0f} s: loss {history}", flush=True)
        found["letters"] = _bytes(letters(material, network, weights, store))
        if not chosen.bridge:
            found["texts"] = texts(material, network, weights, store).astype(np.float16)
        np.savez_compressed(chosen.to / f"{trunk}.npz", names=np.array([one.name for one in models]), **found)
        print(f"{time.monotonic() - begun:.0f} s: asked {found['letters'].shape}", flush=True)


def _bytes(logs: rows.Array) -> rows.Array:
    return np.minimum(np.rint(-logs / _STEP), 255).astype(np.uint8)


def letters(material: Material, network: Network, weights: dict[str, Tensor], store: Store) -> rows.Array:
    """Log-likelihoods of letters for all test prompts."""
    device, encode = store.tokens.device, material.tokens.encode
    signs = torch.tensor([encode(letter)[0] for letter in rows.LETTERS[: declare.OPTIONS]], device=device)
    count = len(next(iter(weights.values())))
    found = np.zeros((count, len(material.asked), declare.OPTIONS), np.float32)
    for with_image in (True, False):
        chosen = [at for at, one in enumerate(material.asked) if (one.image >= 0) == with_image]
        chosen.sort(key=lambda at: len(material.asked[at].tokens))
        for first in range(0, len(chosen), _CHUNK):
            part = chosen[first : first + _CHUNK]
            asked = [material.asked[at] for at in part]
            tokens, lines = np.zeros((2, len(part), max(len(one.tokens) for one in asked)), np.int64)
            for row, one in enumerate(asked):
                tokens[row, : len(one.tokens)], lines[row, : len(one.lines)] = one.tokens, one.lines
            starts = torch.tensor([len(one.tokens) for one in asked], device=device)
            seen = store.seen[torch.tensor([one.image for one in asked], device=device)] if with_image else None
            prompts = torch.from_numpy(tokens).to(device), torch.from_numpy(lines).to(device), starts
            found[:, part] = ask(network, weights, prompts, seen, signs).cpu().numpy()
    return found


def texts(material: Material, network: Network, weights: dict[str, Tensor], store: Store) -> rows.Array:
    """Log-likelihoods of gold texts for originals and fresh items."""
    golds = [(family, edition) for family in range(len(material.families)) for edition in (0, declare.EDITIONS - 1)]
    asked = [(rows.gold_text(material.tokens, material.families[a], b), a * declare.EDITIONS + b) for a, b in golds]
    weighed = []
    for first in range(0, len(golds), _CHUNK):
        taken = rows.Rows.of(asked[first : first + _CHUNK])
        numbers, marks, begins, shown = (torch.from_numpy(part).to(store.tokens.device).long() for part in taken)
        weighed.append(weigh(network, weights, (numbers, marks, begins), store.seen[shown]))
    return torch.cat(weighed, 1).cpu().numpy()


if __name__ == "__main__":
    main()
