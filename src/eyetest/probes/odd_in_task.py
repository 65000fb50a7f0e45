"""Is a part of a picture unlike what its task's pictures have there, where the rest of it is like theirs?

A caption that gives the answer away, a stamp, a frame, a part that was cut off: the rest of the picture says which
others it is to be held against. So for each band (eighths from top to bottom, and from left to right) the pictures of
the task are found that are most like it outside of the band, and what is drawn in the band is compared with theirs.
Two companions are enough for a picture to be no odd one: some tasks have several kinds of pictures.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np

from eyetest.measures.stats.paired import benjamini_hochberg
from eyetest.probes.features import Floats, Ints
from eyetest.probes.picture_tasks import LEAST_OF_A_TASK, Tasks, pictured, tasks_told
from eyetest.probes.sketches import SIDE, colours_of, edges_of
from eyetest.probes.sketches import Floats as Cells
from eyetest.probes.subject import Subject, no_pictures, untested
from eyetest.records import Finding, Item
from eyetest.wording import percent

_NAME = "odd-in-task"
_NEIGHBOURS = 8
_COMPANIONS = 2
_MOST_COMPARED = 500
"""Pictures of a task that each is compared with, drawn by lot: more show nothing new."""
_AT_ONCE = 1000
_COLOUR_WEIGHT = 0.01
"""A step of black to white in a colour weighs as much as the edge of a drawn line."""
_FLOOR = 0.3
"""Where hardly anything is ever drawn this share of what is usual elsewhere is taken for usual."""
_BULK = (0.5, 0.9)
"""Between these quantiles of all pictures' oddness its tail is measured, below whatever may be wrong."""
_NAMES = ("top", "bottom", "left", "right")


class OddInTask:
    """Looks for pictures of which one part is out of place."""

    name = _NAME
    summary = "Is a part of any picture unlike its task's others?"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """One test: whether the oddest pictures are odder than their number allows."""
        if not subject.shows_pictures:
            yield no_pictures(_NAME, "odd pictures were not looked for")
            return
        tasks, shown_by = _once_each(tasks_told(subject) or _one_task(subject))
        least = subject.thresholds.min_items
        if len(tasks.items) < least:
            title = f"{len(tasks.items)} pictures are too few to say which one is odd"
            yield untested(_NAME, "too-few", title, n=len(tasks.items), least=least)
            return
        bands = _bands(tasks, subject)
        subject.item_scores[_NAME] = {
            item.id: round(float(score), 4)
            for items, score in zip(shown_by, bands.max(axis=1), strict=True)
            for item in items
        }
        yield _finding(subject, tasks, bands, shown_by)


def _one_task(subject: Subject) -> Tasks:
    items, sketches = pictured(subject)
    return Tasks("", ["the benchmark"], items, sketches, np.zeros(len(items), dtype=np.int64))


def _once_each(tasks: Tasks) -> tuple[Tasks, list[list[Item]]]:
    """Every picture of a task once (asked about again it would be its own companion), and the items that show it.

    Tasks that have too few pictures are left out: nothing is usual there.
    """
    shown_by: dict[tuple[str, int], list[int]] = {}
    for index, (item, task) in enumerate(zip(tasks.items, tasks.task.tolist(), strict=True)):
        shown_by.setdefault((item.images[0].sha256, task), []).append(index)
    pictures = Counter(task for _, task in shown_by)
    shown_by = {key: indices for key, indices in shown_by.items() if pictures[key[1]] >= LEAST_OF_A_TASK}
    firsts = [indices[0] for indices in shown_by.values()]
    items, sketches = [tasks.items[index] for index in firsts], [tasks.sketches[index] for index in firsts]
    groups = [[tasks.items[index] for index in indices] for indices in shown_by.values()]
    return tasks._replace(items=items, sketches=sketches, task=tasks.task[firsts]), groups


def _bands(tasks: Tasks, subject: Subject) -> Floats:
    """Pictures × bands: how far what is drawn there is from the picture's companions, in units of the usual."""
    edges = edges_of(tasks.sketches)[..., None]
    seen = np.concatenate([edges, colours_of(tasks.sketches) * np.float32(_COLOUR_WEIGHT)], axis=3)
    apart = np.zeros((len(tasks.items), 2 * SIDE))
    rng = subject.rng(_NAME, "compared")
    for number, members in enumerate(tasks.members()):
        subject.progress(OddInTask.summary, number / len(tasks.names))
        others = np.sort(rng.permutation(members)[:_MOST_COMPARED])
        if not len(others):
            continue
        for start in range(0, len(members), _AT_ONCE):
            rows = members[start : start + _AT_ONCE]
            apart[rows, :SIDE] = _apart(edges, seen, rows, others)
            apart[rows, SIDE:] = _apart(edges.swapaxes(1, 2), seen.swapaxes(1, 2), rows, others)
    usual = np.median(apart, axis=0)
    return np.asarray(apart / np.maximum(usual + _FLOOR * usual.mean(), np.finfo(float).tiny))


def _apart(edges: Cells, seen: Cells, rows: Ints, others: Ints) -> Floats:
    """How far each band is from the nearest but one of the pictures that are most like this one elsewhere."""
    squares = np.stack([_squares(seen[rows, band], seen[others, band]) for band in range(SIDE)])
    everywhere = squares.sum(axis=0)
    everywhere[rows[:, None] == others] = np.inf
    neighbours = min(_NEIGHBOURS, len(others) - 1)
    apart = np.zeros((len(rows), SIDE))
    for band in range(SIDE):
        nearest = np.argpartition(everywhere - squares[band], neighbours - 1, axis=1)[:, :neighbours]
        away = np.take_along_axis(_squares(edges[rows, band], edges[others, band]), nearest, axis=1)
        apart[:, band] = np.sqrt(np.sort(away, axis=1)[:, _COMPANIONS - 1] / SIDE)
    return apart


def _squares(ones: Cells, others: Cells) -> Cells:
    one, other = ones.reshape(len(ones), -1), others.reshape(len(others), -1)
    apart = (one**2).sum(axis=1)[:, None] + (other**2).sum(axis=1) - 2 * one @ other.T
    return np.asarray(np.maximum(apart, 0), np.float32)


def tail_chances(oddness: Floats) -> Floats:
    """How rarely a sound picture would be as odd: the tail that most of the pictures have, drawn out."""
    middle, high = np.quantile(oddness, _BULK)
    fall = (high - middle) / np.log((1 - _BULK[0]) / (1 - _BULK[1]))
    beyond = (1 - _BULK[1]) * np.exp(-(oddness - high) / max(float(fall), 1e-9))
    return np.asarray(np.where(oddness > high, beyond, 1.0))


def _finding(subject: Subject, tasks: Tasks, bands: Floats, shown_by: list[list[Item]]) -> Finding:
    oddness = bands.max(axis=1)
    adjusted = np.array(benjamini_hochberg(list(tail_chances(oddness))), dtype=float)
    rate = subject.thresholds.tasks.rate
    holds = adjusted.min() <= subject.thresholds.level
    odd = [int(index) for index in np.argsort(-oddness, kind="stable") if holds and adjusted[index] <= rate]
    evidence = {item.id: _evidence(tasks, bands, index) for index in odd for item in shown_by[index]}
    task = tasks.tag or "benchmark"
    none = f"No part of a picture is out of place among those of its {task}"
    return Finding(
        probe=_NAME,
        kind="odd-picture",
        severity="suspect",
        title=f"{len(odd):,} pictures have a part that no other of their {task} has there" if odd else none,
        detail=f"{len(tasks.items):,} pictures were compared, band by band, with those of the same {task} that look "
        "like them elsewhere. A caption may give the answer away, a part may be covered or cut off; look at them. "
        f"About {percent(rate)} of those listed may be as they should.",
        items=tuple(evidence),
        evidence=evidence,
        p=float(adjusted.min()),
        numbers={"tag": tasks.tag, "tasks": len(tasks.names), "n": len(tasks.items)},
    )


def _evidence(tasks: Tasks, bands: Floats, index: int) -> str:
    band = int(bands[index].argmax())
    across, place = divmod(band, SIDE)
    ends = _NAMES[2 * across : 2 * across + 2]
    where = (
        f"at the {ends[2 * place // SIDE]}"
        if place in (0, SIDE - 1)
        else f"{percent((place + 0.5) / SIDE)} from the {ends[0]}"
    )
    whose = f'those of {tasks.tag} "{tasks.names[tasks.task[index]]}"' if tasks.tag else "others"
    return (
        f"{where} the picture is unlike {whose} that look like it elsewhere: {bands[index, band]:.1f} times the usual"
    )


PROBE = OddInTask()
