"""``python -m tools.gallery.judging``: draw findings and controls to be judged blind, and take in the judgements.

``draw`` writes for each benchmark a sheet of findings and controls in random order, without saying which is which; a
reader adds a word to each line (see ``ASKED``); ``take`` adds the judgements to docs/gallery/judged.csv. Sheets hold
texts of others and stay in build/.
"""

import argparse
import csv
import json
import random
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import eyetest as et
from eyetest.records import Item, letter
from tools.gallery.__main__ import GALLERY, JUDGED, ROOT, fill
from tools.gallery.judgements import CONTROL, FINDING, UNKNOWN, Judgement, checked_words, read_judgements
from tools.gallery.manifest import asked, read_manifest
from tools.gallery.measuring import import_items

DRAWN = 20
"""Findings of a benchmark that are judged, and as many controls."""
PAIRS = {
    "contradicting-golds",
    "duplicate-items",
    "near-identical-images",
    "repeats-on-copied-images",
}
CUES = {"surface-given-away": "shortcut:surface", "text-given-away": "shortcut:text"}
"""Findings that keys can be guessed, and the scores by which items are drawn, as such a finding names none: a reader
without key and image chooses an option. (*answer-in-question* was judged while it still named items.)
"""
GIVEN_AWAY = 0.15
"""Score from which on the key of an item counts as given away: so much above chance."""
DEFECTS = {
    "above-not-last",
    "empty-option",
    "equal-options",
    "letter-options",
    "lost-gold",
    "lost-option",
    "missing-gold",
    "no-image",
    "one-colour-image",
    "one-option",
    "unreadable-image",
}
ASKED = {
    "pair": "same (one question, one image), variant (asks something else), or different",
    "images": "same (one image, perhaps resized, cropped or stored anew), or different",
    "cue": "the letter that you would choose without the image",
    "defect": "broken, harmless (unusual, but answerable as it is), or sound",
}


class Draw(NamedTuple):
    """Something to judge."""

    kind: str
    ids: tuple[str, ...]
    drawn: str

    @property
    def question(self) -> str:
        """What is asked about it."""
        if self.kind == "near-identical-images":
            return "images"
        return "pair" if self.kind in PAIRS else "cue" if self.kind in CUES else "defect"


def draws(audit: dict[str, Any], items: dict[str, Item], seed: int) -> list[Draw]:
    """Findings of all kinds in turn, and a control for each, which none of these kinds names, in random order."""
    chance = random.Random(seed)
    alarms = [
        f for f in audit["findings"] if f["severity"] in ("bad", "suspect") and f["kind"] in PAIRS | {*CUES} | DEFECTS
    ]
    scores = audit.get("item_scores", {})
    drawn = {f["kind"]: [*_of(f, scores)] for f in alarms}
    listed = [i for f in alarms for i in (*f.get("items", ()), *(i for group in f.get("groups", ()) for i in group))]
    named = {*listed, *(i for ids in drawn.values() for i in chain(*ids))}
    queues = {kind: _shuffled(ids, chance) for kind, ids in drawn.items()}
    found: list[Draw] = []
    while len(found) < DRAWN and any(queues.values()):
        found += [Draw(kind, queue.pop(), FINDING) for kind, queue in queues.items() if queue]
    found = found[:DRAWN]
    others = _shuffled((item for item in items.values() if item.id not in named), chance)
    controls = [control for draw in found if (control := _control(draw, others, items, chance))]
    return _shuffled(found + controls, chance)


def _of(finding: dict[str, Any], scores: dict[str, dict[str, float]]) -> Iterator[tuple[str, ...]]:
    if finding["kind"] in PAIRS:
        yield from (tuple(group[:2]) for group in finding["groups"])
    elif finding["kind"] in CUES:
        of_view = scores.get(CUES[finding["kind"]], {})
        yield from ((item,) for item, score in of_view.items() if score >= GIVEN_AWAY)
    else:
        yield from ((item,) for item in finding["items"])


def _control(draw: Draw, others: list[Item], items: dict[str, Item], chance: random.Random) -> Draw | None:
    """An item of no finding; for a pair two, about one image or with nearly the same words where there are such."""
    fitting = [item for item in others if draw.question != "cue" or item.is_choice]
    if len(fitting) < len(draw.ids):
        return None
    first = chance.choice(fitting)
    if draw.kind not in PAIRS:
        return Draw(draw.kind, (first.id,), CONTROL)
    images = {image.sha256 for image in first.images}
    sharing = [i for i in fitting if i is not first and images & {image.sha256 for image in i.images}]
    others = [i for i in fitting if i is not first and i not in sharing]
    near = sharing if draw.question == "pair" else []
    near = near or sorted(others, key=lambda i: -_shared_words(i, first))[:3]
    return Draw(draw.kind, (first.id, chance.choice(near).id), CONTROL)


def _shared_words(a: Item, b: Item) -> float:
    first, second = ({*item.question.lower().split()} for item in (a, b))
    return len(first & second) / max(1, len(first | second))


def _shuffled(entries: Iterable[Any], chance: random.Random) -> list[Any]:
    listed = list(entries)
    chance.shuffle(listed)
    return listed


def shown(item: Item, question: str, images: Path, of: Any) -> dict[str, Any]:
    """What a reader sees of an item."""
    if question == "images":
        return {"images": [_copied(of, image, images) for image in item.images]}
    words: dict[str, Any] = {"question": item.question, "hint": item.hint}
    words["options"] = {letter(i): choice.text for i, choice in enumerate(item.choices)}
    if question != "cue":
        words["key"] = [letter(i) for i in item.gold] or list(item.references)
        words["images"] = [_copied(of, image, images) for image in item.images]
    return {name: value for name, value in words.items() if value}


def _copied(bench: Any, image: Any, to: Path) -> str:
    to.mkdir(parents=True, exist_ok=True)
    source = bench.images.path(image)
    target = to / source.name
    if not target.exists():
        shutil.copy(source, target)
    return str(target)


def draw_row(name: str, to: Path, seed: int) -> int:
    """Write the sheet of one benchmark, and apart from it what is what."""
    row = read_manifest().rows[name]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        fill(row, folder)
        import_items(name, row, folder)
        bench = et.open(folder / (row.bench or name))
        items = {item.id: item for item in bench}
        drawn = draws(asked(f"eyetest audit {row.bench or name}", folder), items, seed)
        lines = [
            {
                "n": n,
                "asked": draw.question,
                "items": [shown(items[i], draw.question, to / "images", bench) for i in draw.ids],
            }
            for n, draw in enumerate(drawn)
        ]
    if lines:
        (to / f"{name}.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
        (to / "what").mkdir(exist_ok=True)
        (to / "what" / f"{name}.json").write_text(json.dumps([draw._asdict() for draw in drawn]))
        (to / "what" / f"{name}.keys.json").write_text(
            json.dumps([[letter(i) for i in items[draw.ids[0]].gold] for draw in drawn])
        )
    return len(lines)


def take(sheets: Path, file: Path) -> None:
    """Add the judgements in NAME.csv (n, word, seen); stored ones of the same benchmark and kind are replaced."""
    new: list[Judgement] = []
    for words in sorted(sheets.glob("*.csv")):
        drawn = [Draw(**draw) for draw in json.loads((sheets / "what" / f"{words.stem}.json").read_text())]
        keys = json.loads((sheets / "what" / f"{words.stem}.keys.json").read_text())
        with words.open(encoding="utf-8", newline="") as lines:
            for line in csv.DictReader(lines):
                draw, word = drawn[int(line["n"])], line["word"].strip()
                if draw.question == "cue" and word != UNKNOWN:
                    word = "found" if word.upper() in keys[int(line["n"])] else "not found"
                new.append(Judgement(words.stem, draw.kind, " + ".join(draw.ids), draw.drawn, line["seen"], word))
    checked_words(new, sheets)
    replaced = {(row.benchmark, row.kind) for row in new}
    kept = [row for row in read_judgements(file) if (row.benchmark, row.kind) not in replaced]
    with file.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        writer.writerow(Judgement._fields)
        writer.writerows(kept + sorted({*new}))


def main() -> None:
    """Draw sheets, or take in what was judged."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("draw", "take"))
    parser.add_argument("--only", nargs="+", metavar="NAME")
    parser.add_argument("--to", type=Path, default=ROOT / "build/judging")
    parser.add_argument("--seed", type=int, default=42)
    given = parser.parse_args()
    given.to.mkdir(parents=True, exist_ok=True)
    if given.what == "take":
        return take(given.to, GALLERY / JUDGED)
    for name in given.only or read_manifest().rows:
        print(name, draw_row(name, given.to, given.seed), flush=True)
    return None


if __name__ == "__main__":
    main()
