"""Twins that are not exact, drawn before any model is asked: ``python -m contamination.bridge FILE`` writes them.

No writer model has a part in it: questions are reworded by rules, and options grown by those of ``eyetest reform``.
"""

import argparse
import gzip
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

import msgspec
import numpy as np
from eyetest_world.drafting import Draft, encoded_again, render
from eyetest_world.posing import ask, phrasings, read, shuffled, without
from PIL import Image as Pillow
from PIL import ImageEnhance

from contamination import declare
from contamination.declare import OPTIONS, TWINS, Family
from contamination.rows import SIDE, Array
from eyetest.reform.distractors.answers import AnswerDistractors, OpenQuestion

KINDS = ("renewed", "regrown", "rewritten", "both", "rare")
"""A new edition; other wrong options; other words; both; a key that no other question of its kind has as an option.
Each has a text of its own, and another key than the original.
"""


class Text(NamedTuple):
    """A question, its options in order, and the position of the answer key."""

    question: str
    options: tuple[str, ...]
    gold: int


def drawn(families: Sequence[Family]) -> Iterator[dict[str, list[Text]]]:
    """The twins of each family, by kind."""
    values: dict[str, set[str]] = defaultdict(set)
    for family in families:
        for made in (family.original, family.fresh):
            values[made.kind] |= set(made.options)
    asked = [
        OpenQuestion(one.original.question, one.original.options[one.original.gold], type=one.original.kind)
        for one in families
    ]
    pool = AnswerDistractors(asked, OPTIONS)
    questions = {made.question for one in families for made in (one.original, one.fresh)}
    for index, family in enumerate(families):
        made, rng = family.original, Random(f"contamination/{declare.SEED}/bridge/{index}")
        found: dict[str, list[Text]] = {kind: [] for kind in KINDS}
        keys = shuffled(rng, without(made.options, made.options[made.gold]))
        ordered = [made.options[one] for one in family.order]
        wordings = rng.sample(without(range(len(phrasings()[made.kind])), made.phrasing), TWINS)
        odd = sorted(set().union(*values.values()) - values[made.kind])
        for number, key in enumerate(keys):
            found["renewed"].append(_renewed(made.kind, f"{index}/{number}", questions, rng))
            options = shuffled(rng, [key, *_grown(made, key, pool, sorted(values[made.kind]), rng)])
            question = _reworded(made, wordings[number], number, rng)
            found["regrown"].append(_text(made.question, options, key))
            found["rewritten"].append(_text(question, ordered, key))
            found["both"].append(_text(question, options, key))
            strange = rng.choice(odd)
            found["rare"].append(_text(made.question, [strange if one == key else one for one in ordered], strange))
        yield found


def _text(question: str, options: Sequence[str], key: str) -> Text:
    return Text(question, tuple(options), list(options).index(key))


def _renewed(kind: str, seed: str, questions: set[str], rng: Random) -> Text:
    """As ``harden renew`` draws it: the same kind of question about a new scene."""
    for attempt in range(1000):
        made = declare.drafted(kind, f"contamination/{declare.SEED}/bridge/{seed}/{attempt}")
        if len(made.options) == OPTIONS and made.question not in questions:
            break
    questions.add(made.question)
    return _text(made.question, shuffled(rng, list(made.options)), made.options[made.gold])


def _grown(made: Draft, key: str, pool: AnswerDistractors, values: Sequence[str], rng: Random) -> list[str]:
    """Wrong options of a key: by rule or from the keys of like questions, then other values of the kind; those of the
    original only where there are no others.
    """
    asked = OpenQuestion(made.question, key, type=made.kind)
    ruled = [*pool.by_rule(asked, rng), *pool.from_pool(asked, rng)]
    others = [one for one in (*ruled, *shuffled(rng, list(values))) if one not in made.options]
    old = without(made.options, key)
    return list(dict.fromkeys((*others, *shuffled(rng, old))))[: OPTIONS - 1]


def _reworded(made: Draft, phrasing: int, way: int, rng: Random) -> str:
    """The same content: another phrasing, and another lead before it, its own behind it, or a request without one."""
    around = made.circumstance
    if way == 0:
        return ask(made.kind, made.words, around | {"lead": rng.choice(read("leads")["leads"])}, phrasing)
    asked = ask(made.kind, made.words, around | {"lead": ""}, phrasing).strip()
    if way == 1:
        return f"{asked} {around['lead'].format(**around)}"
    return f"Please answer a question about {around['it']}. {asked} Only one of the answers below fits."


def restyled(made: Draft) -> Array:
    """The image of a draft in another style: other paper, paler, smaller on grey, encoded as a JPEG."""
    rng = Random(f"contamination/{declare.SEED}/bridge/{made.seed}/{made.gold}")
    scene = made.scene | {"paper": rng.randrange(8), "specks": rng.randrange(10**6)}
    image = ImageEnhance.Contrast(render(msgspec.structs.replace(made, scene=scene), SIDE)).enhance(0.8)
    copy = Pillow.open(io.BytesIO(encoded_again(image, rng))).convert("RGB")
    ground, side = Pillow.new("RGB", (SIDE, SIDE), "#c9c9c9"), rng.randint(104, 116)
    ground.paste(copy.resize((side, side)), (rng.randint(0, SIDE - side), rng.randint(0, SIDE - side)))
    return np.asarray(ground)


def stored(path: Path) -> list[dict[str, list[Text]]]:
    """The twins of a file."""
    families = json.loads(gzip.decompress(path.read_bytes()))
    return [{kind: [Text(a, tuple(b), c) for a, b, c in texts] for kind, texts in one.items()} for one in families]


def main() -> None:
    """Write the twins, and print how many options are new."""
    parser = argparse.ArgumentParser(prog="python -m contamination.bridge")
    parser.add_argument("file", type=Path)
    parser.add_argument("--items", type=int, default=declare.ITEMS)
    chosen = parser.parse_args()
    families = declare.families(chosen.items)
    twins = list(drawn(families))
    chosen.file.write_bytes(gzip.compress(json.dumps(twins, separators=(",", ":")).encode(), mtime=0))
    grown = [
        option not in family.original.options
        for family, own in zip(families, twins, strict=True)
        for text in own["regrown"]
        for option in without(text.options, text.options[text.gold])
    ]
    print(f"{len(families)} families; {sum(grown) / len(grown):.2f} of the regrown wrong options are new")


if __name__ == "__main__":
    main()
