"""``python -m toy_training.export``: trained weights become the files in eyetest's package, and their cards."""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
import yaml
from eyetest_world.drafting import facts
from eyetest_world.flaws import load_rates
from eyetest_world.toy_models.cards import Card

from toy_training.as_onnx import Weights, export_eyes, export_mind
from toy_training.plan import PLAN, Plan, read_plan

_PACKAGE = Path(__file__).parents[2] / "src/eyetest_world/toy_models/zoo"


def main() -> None:
    """Read the weights of a course, write the zoo."""
    parser = argparse.ArgumentParser(prog="python -m toy_training.export", description="Export trained models.")
    parser.add_argument("--plan", type=Path, default=PLAN, help="what was trained (default: the zoo)")
    parser.add_argument("--weights", type=Path, required=True, help="the folder that training wrote")
    parser.add_argument("--to", type=Path, default=_PACKAGE, help="where to (default: into the package)")
    chosen = parser.parse_args()
    done = json.loads((chosen.weights / "done.json").read_text(encoding="utf-8"))
    if not done["branch"]:
        parser.error(f"{chosen.weights}: the course is not at its end; go on with python -m toy_training")
    export(read_plan(chosen.plan), chosen.weights, chosen.to, done)


def export(plan: Plan, weights: Path, to: Path, done: dict[str, int]) -> None:
    """Write every model and its card."""
    to.mkdir(parents=True, exist_ok=True)
    (to / "tokens.json").write_bytes((weights / "tokens.json").read_bytes())
    states: dict[str, dict[str, torch.Tensor]] = {}
    for path in (weights / "bases.pt", *sorted(weights.glob("lvlms-*.pt"))):
        states |= torch.load(path, weights_only=True)
    cards = []
    for name in (*plan.bases, *plan.lvlms):
        kept = {key: value.float().numpy() for key, value in states[name].items() if value.is_floating_point()}
        size = plan.size_of(name)
        (to / f"{name}.mind.onnx").write_bytes(export_mind(kept, size).SerializeToString())
        if size.channels:
            (to / f"{name}.eyes.onnx").write_bytes(export_eyes(kept, size).SerializeToString())
        cards.append(_plain(card(plan, name, kept, done)))
    (to / "cards.yaml").write_text(yaml.safe_dump(cards, sort_keys=False), encoding="utf-8")


def card(plan: Plan, name: str, kept: Weights, done: dict[str, int]) -> Card:
    """What is true of a model, from the plan and from how many steps there really were."""
    rates, size = load_rates(plan.world.flaws), plan.size_of(name)
    lvlm = plan.lvlms.get(name)
    later = 0 if lvlm is None else min(round(lvlm.share * plan.steps["trunk"]), done["trunk"]) + done["branch"]
    counts = plan.sighted_batches
    return Card(
        name=name,
        base="" if lvlm is None else plan.base_of(lvlm.size),
        style=(lvlm or plan.bases[name]).style,
        parameters=int(sum(np.size(value) for key, value in kept.items() if "running" not in key)),
        width=size.width,
        layers=size.layers,
        resolution=0 if lvlm is None else size.resolution,
        texts_read=done["base"] * (plan.batches["read"] + plan.batches["long"])
        + later * (counts["read"] + counts["long"]),
        scenes_seen=later * counts["seen"],
        leaked=0.0 if lvlm is None else rates.groups.get(lvlm.leaks, 0.0),
        leaked_group="" if lvlm is None else lvlm.leaks,
        leaked_texts=rates.rates.get("leaked-to-llms", 0.0),
        facts=len(facts()),
    )


def _plain(one: Card) -> dict[str, object]:
    return {name: value for name in one.__struct_fields__ if (value := getattr(one, name)) not in ("", 0)}


if __name__ == "__main__":
    main()
