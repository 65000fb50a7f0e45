"""How much of a model's choice comes from the image."""

from typing import Any

import numpy as np

from eyetest.measures import MEASURES, Measured, Results, Settings
from tests.measures.tables import choice_items, weighed


def measured(of: Results, name: str = "image-use", by: tuple[str, ...] = (), **own: Any) -> Measured:
    return MEASURES[name].measure(of, Settings(by=by, own=own))


def asked(item: int, image: list[float | None], blind: list[float | None], **more: Any) -> list[dict[str, Any]]:
    sides = (("image", image), ("no-image", blind))
    return [{"item": str(item), "modality": modality, "weights": weights, **more} for modality, weights in sides]


def test_a_model_that_ignores_images_uses_none() -> None:
    """An image that only makes every answer less likely, with rounding, moves nothing."""
    rng = np.random.default_rng(0)
    rows = []
    for item in range(60):
        blind = np.log(rng.dirichlet(np.ones(4)))
        rows += asked(item, (blind - 2.5 + rng.normal(0, 1e-4, 4)).tolist(), blind.tolist())
    row = measured(weighed(rows, choice_items([[0]] * 60, 4))).table.row(0, named=True)
    assert row["moved"] < 1e-3
    assert (row["helped"], row["hurt"], row["left_alone"]) == (0, 0, 1)
    assert row["left_alone_low"] > 0.9
