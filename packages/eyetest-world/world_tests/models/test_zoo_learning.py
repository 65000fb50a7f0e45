"""A course in small, on a processor: it learns, it goes on where it stopped, and what it exports answers the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import yaml

pytestmark = pytest.mark.journey

torch = pytest.importorskip("torch", reason="only who trains the zoo needs PyTorch")
pytest.importorskip("onnx")

from eyetest_world.toy_models.cards import Card, weights  # noqa: E402
from eyetest_world.toy_models.cards import cards as package  # noqa: E402
from eyetest_world.toy_models.network import Network as Runtime  # noqa: E402
from eyetest_world.toy_models.network import Tokens  # noqa: E402
from toy_training import __main__ as command  # noqa: E402
from toy_training import export as exporting  # noqa: E402
from toy_training.examples import Reading  # noqa: E402
from toy_training.graphs import narrowed  # noqa: E402
from toy_training.lines import SHORT, read_texts  # noqa: E402
from toy_training.network import Network  # noqa: E402
from toy_training.plan import PLAN, read_plan  # noqa: E402
from toy_training.pool import SIDE  # noqa: E402

PLANNED = {
    "world": {"items": 60, "seed": 7, "flaws": "default"},
    **{"scenes": 32, "texts": 16, "long_texts": 4, "held_out": 8, "variants": 1},
    "batches": {"read": 8, "long": 2},
    "sighted_batches": {"seen": 8, "read": 4, "long": 2},
    "leaked_rows": {"seen": 2, "read": 1},
    "steps": {"base": 3, "trunk": 4, "branch": 2},
    "sizes": {
        "xs": {"width": 32, "layers": 1, "channels": [4, 8]},
        "s": {"width": 64, "layers": 2, "channels": [4, 8, 8]},
    },
    "bases": {"mole-xs": {"size": "xs", "style": "letter"}, "mole-s": {"size": "s", "style": "sentence"}},
    "lvlms": {
        "big-s": {"size": "s", "share": 1.0, "style": "words", "leaks": "many"},
        "half-xs": {"size": "xs", "share": 0.5, "style": "letter"},
    },
}
TOKENS = Tokens(msgspec.json.decode(weights("tokens.json").read_bytes(), type=list[str]))


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """Networks this small are slower on many."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class Trained:
    """The command, and what it left in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.plan = folder / "weights", folder / "plan.yaml"
        self.plan.write_text(yaml.safe_dump(yaml.safe_load(PLAN.read_text()) | PLANNED, sort_keys=False))
        self._words = folder / "words.json"
        self._words.write_bytes(weights("tokens.json").read_bytes())

    def train(self, *more: str) -> dict[str, int]:
        """Call the command; how far it came."""
        given = ("--plan", self.plan, "--to", self.folder, "--words", self._words, *more)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("sys.argv", ["zoo", *map(str, given)])
            command.main()
        return json.loads((self.folder / "done.json").read_text())

    def export(self, to: Path) -> list[Card]:
        """Export what was trained."""
        with pytest.MonkeyPatch.context() as patch:
            given = ("--plan", self.plan, "--weights", self.folder, "--to", to)
            patch.setattr("sys.argv", ["export", *map(str, given)])
            exporting.main()
        return msgspec.convert(yaml.safe_load((to / "cards.yaml").read_text()), list[Card])

    def weights(self, name: str) -> dict[str, Any]:
        """The weights of a file."""
        return torch.load(self.folder / f"{name}.pt", weights_only=True)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    found = Trained(tmp_path_factory.mktemp("course"))
    found.train()
    return found


def wide(values: np.ndarray, axis: int = 0) -> Any:
    narrow, scale = narrowed(values, axis)
    found = narrow * scale
    assert (np.abs(found - values) <= scale * 0.5001).all(), "a weight is off by half a step at most"
    return torch.from_numpy(found.astype(np.float32))


def as_stored(kept: dict[str, Any]) -> dict[str, Any]:
    """Weights as the exported files hold them: in bytes, with the eyes' normalisations folded in."""
    found = {name: one.float() for name, one in kept.items()}
    for name, one in kept.items():
        if name.endswith(("running_mean", "running_var", "tracked", "norm.weight", "places", "bias")):
            continue
        if one.dim() == 2:
            found[name] = wide(one.float().numpy())
        if one.dim() == 4:
            norm = name.replace("convs", "norms").replace("conv.", "norm.").removesuffix("weight")
            scale = kept[f"{norm}weight"].float() / (kept[f"{norm}running_var"].float() + 1e-5).sqrt()
            found[name] = wide((one.float() * scale[:, None, None, None]).numpy())
            found[f"{norm}bias"] = kept[f"{norm}bias"].float() - kept[f"{norm}running_mean"].float() * scale
            found[f"{norm}weight"] = torch.ones_like(scale)
            found[f"{norm}running_mean"] = torch.zeros_like(scale)
            found[f"{norm}running_var"] = torch.full_like(scale, 1 - 1e-5)
    return found


@pytest.mark.parametrize("name", ["mole-xs", "mole-s", "big-s", "half-xs"])
def test_an_exported_model_thinks_the_same(trained: Trained, tmp_path: Path, name: str) -> None:
    card = {one.name: one for one in trained.export(tmp_path)}[name]
    plan = read_plan(trained.plan)
    kept = trained.weights("bases" if not card.sees else f"lvlms-{plan.lvlms[name].size}")[name]
    network = Network(plan.size_of(name), TOKENS.size).eval()
    texts = read_texts(Reading((), {"guess": 0.6, "fact": 0.4}), TOKENS, 3, SHORT, "x")
    small = np.random.default_rng(1).integers(0, 256, (3, 3, card.resolution, card.resolution), np.uint8)
    images = None
    if card.sees:
        factor = SIDE // card.resolution
        images = torch.from_numpy(small.repeat(factor, 2).repeat(factor, 3))
    rows, lines = texts.tokens[:, 0].astype(np.int64), texts.lines.astype(np.int64)
    prompts = [row[:start] for row, start in zip(rows, texts.starts, strict=True)]
    said = []
    for held in (as_stored(kept), {key: one.float() for key, one in kept.items()}):
        network.load_state_dict(held)
        with torch.no_grad():
            thoughts = network.thoughts(torch.from_numpy(rows), torch.from_numpy(lines), images)
            said.append(network.mind.speak(thoughts).numpy())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eyetest_world.toy_models.network.weights", tmp_path.joinpath)
        runtime = Runtime(card)
    seen = runtime.look(small) if card.sees else None
    reading = runtime.read(prompts, [row[: len(prompt)] for row, prompt in zip(lines, prompts, strict=True)], seen)
    exact = np.stack([one[start - 1] for one, start in zip(said[0], texts.starts, strict=True)])
    assert np.abs(reading.logits[:, 0] - exact).max() < 2e-3
    raw = np.stack([one[start - 1] for one, start in zip(said[1], texts.starts, strict=True)])
    assert np.abs(exact - raw).mean() < 0.05 * raw.std(), "bytes change little"
    first = np.array([[row[start]] for row, start in zip(rows, texts.starts, strict=True)])
    further = runtime.go_on(reading, first).logits[:, 0]
    exact = np.stack([one[start] for one, start in zip(said[0], texts.starts, strict=True)])
    assert np.abs(further - exact).max() < 2e-3, "going on from a reading is like reading it all"


def test_the_package_was_made_by_this_plan() -> None:
    """Same models, sizes and styles; what changed in the plan must be trained again."""
    plan = read_plan(PLAN)
    for name, card in package().items():
        size = plan.size_of(name)
        assert (card.width, card.layers) == (size.width, size.layers)
        assert card.style == (plan.lvlms.get(name) or plan.bases[name]).style
