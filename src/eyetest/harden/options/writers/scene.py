"""What a drawn picture does not show: answers of the same kind that are wrong by its scene.

The values come from the other items of the kind, so that nothing is offered that is never right. That each of them is
wrong is worked out from the scene, and not from how the question was posed.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterable

import msgspec

from eyetest.harden.options.scene_answers import right_answers
from eyetest.harden.options.writers.base import Case, Cases, Propose


class SceneWriter:
    """Proposes for the items of a drawn world, of which everything is known."""

    name = "scene rule"
    checker = "scene graph"
    summary = "values of the same kind that a drawn scene does not show"
    place = 1

    def start(self, batch: Cases) -> Propose:
        """Collects the values of each kind of question."""
        values: dict[str, dict[str, None]] = defaultdict(dict)
        for case in batch.cases:
            if truth := batch.truth.get(case.item.id):
                values[truth.kind] |= dict.fromkeys(case.present if "gold-longest" in truth.flaws else case.options)

        def propose(case: Case, chance: random.Random) -> Iterable[str]:
            truth = batch.truth.get(case.item.id)
            if truth is None:
                return ()
            shown = truth.shown in ("", truth.kind)
            right = right_answers(truth.kind, msgspec.json.decode(truth.scene)) if shown else set()
            asked = case.item.question.casefold()
            wrong = [text for text in values[truth.kind] if text not in right and not _is_named(text, asked)]
            return chance.sample(wrong, len(wrong))

        return propose


def _is_named(text: str, question: str) -> bool:
    """Whether the question names it: what it asks about is never its answer."""
    return not text.isdigit() and re.search(rf"\b{re.escape(text.casefold())}\b", question) is not None


WRITER = SceneWriter()
