"""A course in small, on a processor: it learns, it goes on where it stopped, and what it exports answers the same."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import yaml

torch = pytest.importorskip("torch", reason="only who trains the zoo needs PyTorch")
pytest.importorskip("onnx")

from eyetest_world.toy_models.cards import Card, weights  # noqa: E402
from eyetest_world.toy_models.cards import cards as package  # noqa: E402
from eyetest_world.toy_models.network import Network as Runtime  # noqa: E402
from eyetest_world.toy_models.network import Tokens  # noqa: E402
from toy_training import __main__ as command  # noqa: E402
from toy_training import export as exporting  # noqa: E402
from toy_training.batches import Library  # noqa: E402
from toy_training.examples import Reading  # noqa: E402
from toy_training.graphs import narrowed  # noqa: E402
from toy_training.learning import Batch, Lesson, Student, schedule, warm_up  # noqa: E402
from toy_training.lines import LONG, SHORT, read_texts  # noqa: E402
from toy_training.muon import orthogonal  # noqa: E402
from toy_training.network import Network  # noqa: E402
from toy_training.plan import PLAN, read_plan  # noqa: E402
from toy_training.pool import SIDE  # noqa: E402
from toy_training.sizes import Size  # noqa: E402

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
CPU = torch.device("cpu")


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


def test_a_course_runs_to_its_end(trained: Trained) -> None:
    assert json.loads((trained.folder / "done.json").read_text()) == {"base": 3, "trunk": 4, "branch": 2}
    assert trained.weights("bases").keys() == {"mole-xs", "mole-s"}
    assert trained.weights("letters-2").keys() == {"xs/2"}
    assert trained.weights("letters-4").keys() == {"s/4"}
    assert trained.weights("lvlms-s").keys() == {"big-s"}
    trunk, branch = trained.weights("letters-2")["xs/2"], trained.weights("lvlms-xs")["half-xs"]
    moved = [name for name, one in trunk.items() if not torch.equal(one, branch[name])]
    assert len(moved) > len(trunk) / 2, "a branch goes on from its mark"


def test_a_course_goes_on_where_it_stopped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    course = Trained(tmp_path)
    assert course.train("--seconds", "0") == {"base": 3, "trunk": 0, "branch": 0}
    assert "the same command goes on" in capsys.readouterr().out
    bases = course.weights("bases")
    with pytest.raises(SystemExit):
        course.export(tmp_path / "zoo")
    assert "not at its end" in capsys.readouterr().err
    assert course.train("--seconds", "0", "--finish") == {"base": 3, "trunk": 0, "branch": 2}
    assert course.train() == {"base": 3, "trunk": 4, "branch": 2}
    for name, kept in course.weights("bases").items():
        assert all(torch.equal(one, bases[name][key]) for key, one in kept.items()), "nobody reads twice"


def test_cards_say_what_was_learnt(trained: Trained, tmp_path: Path) -> None:
    mole, _, big, half = trained.export(tmp_path)
    assert (mole.name, mole.texts_read, mole.scenes_seen, mole.sees) == ("mole-xs", 3 * 10, 0, False)
    assert (big.base, big.scenes_seen, big.texts_read) == ("mole-s", 6 * 8, 3 * 10 + 6 * 6)
    assert (half.scenes_seen, half.leaked, half.resolution) == (4 * 8, 0.0, 64)
    assert (big.leaked_group, big.resolution) == ("many", 128)
    assert big.leaked > 0


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


def student(count: int, *, eyes: bool) -> tuple[Student, Lesson]:
    """Somebody small, and something to learn by heart."""
    torch.manual_seed(3)
    dice = torch.Generator().manual_seed(3)
    reading = Reading((), {"fact": 0.5, "told": 0.5})
    read, long = (
        Library(read_texts(reading, TOKENS, size, length, "x"), CPU) for size, length in ((count, SHORT), (2, LONG))
    )
    network = Network(Size(32, 1, (4, 8, 8) if eyes else ()), TOKENS.size)
    side = (Batch(8, SHORT, CPU, SIDE),) if eyes else ()
    made = Student(network, Batch(count, SHORT, CPU), Batch(2, LONG, CPU), *side)
    letters = torch.zeros(count, dtype=torch.int64)
    seen = None
    if eyes:
        images = torch.randint(0, 256, (8, 3, SIDE, SIDE), generator=dice, dtype=torch.uint8)
        seen = (*read.take(torch.arange(8), letters[:8]), images)
    lesson = Lesson(read.take(read.all(), letters), long.take(long.all(), letters[:2]), seen)
    return made, lesson


def test_sixty_four_examples_are_learnt_by_heart() -> None:
    made, lesson = student(64, eyes=False)
    made.take(lesson)
    losses = []
    for step in range(30):
        made.step(0.004 * min(1.0, (step + 1) / 10))
        losses.append(made.losses[0])
    assert losses[-1] < 0.25 * losses[0], losses


def test_every_weight_learns() -> None:
    made, lesson = student(16, eyes=True)
    before = {name: one.detach().clone() for name, one in made.network.named_parameters()}
    made.take(lesson)
    for _ in range(2):
        made.step(0.001)
    still = [name for name, one in made.network.named_parameters() if torch.equal(one, before[name])]
    assert not still
    assert all(torch.isfinite(one).all() for one in made.network.parameters())


def test_muon_makes_all_directions_equally_strong() -> None:
    torch.manual_seed(1)
    for shape in ((2, 16, 8), (1, 8, 24)):
        strengths = torch.linalg.svdvals(orthogonal(torch.randn(shape)))
        assert float(strengths.min()) > 0.6
        assert float(strengths.max()) < 1.3


def test_rates_rise_and_fall() -> None:
    rates = [schedule(step, 1000) for step in range(1000)]
    assert rates[0] == warm_up(0) == 0.01
    assert max(rates) == rates[100] == rates[699] == 1.0
    assert rates[699] > rates[800] > rates[999] > 0


def test_the_package_was_made_by_this_plan() -> None:
    """Same models, sizes and styles; what changed in the plan must be trained again."""
    plan = read_plan(PLAN)
    for name, card in package().items():
        size = plan.size_of(name)
        assert (card.width, card.layers) == (size.width, size.layers)
        assert card.style == (plan.lvlms.get(name) or plan.bases[name]).style
