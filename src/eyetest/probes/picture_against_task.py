"""Does a picture belong to its item's task, or does it look like those of another one?

Trees learn to tell the task from the picture, and speak of each item without having learnt from it. Confusions are
common where tasks share a kind of picture; they say nothing. So what trees say is stretched until it is as sure as it
is right, and beside it stands a share of items whose picture has nothing to do with their task: both are fitted at
once. A benchmark without such items has a share of nothing, however much its tasks overlap.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy import optimize, special, stats

from eyetest.probes.features import Floats, Ints
from eyetest.probes.picture_tasks import TREES, Tasks, learn_tasks, tasks_told
from eyetest.probes.subject import Subject, no_pictures, untested
from eyetest.records import Finding
from eyetest.wording import percent

_NAME = "picture-against-task"
_LEAST_ITEMS = 100
"""With fewer the share of foreign pictures cannot be told from none."""
_MOST_FOREIGN = 0.3
"""Where more pictures than this were foreign, the tag would not be told by pictures at all."""


class Foreign(NamedTuple):
    """How many pictures have nothing to do with their task, and how surely each has not."""

    share: float
    p: float
    """How often a benchmark without any would look so."""
    chances: Floats
    """By item."""


class PictureAgainstTask:
    """Looks for items that show a picture of another task than theirs."""

    name = _NAME
    summary = "Does each picture look like those of its task?"

    def run(self, subject: Subject) -> Iterator[Finding]:
        """One test: whether any picture is foreign to its task; with the items for which that is nearly sure."""
        if not subject.shows_pictures:
            yield no_pictures(_NAME, "whether pictures suit their tasks was not looked at")
            return
        tasks = tasks_told(subject)
        if tasks is None or len(tasks.items) < _LEAST_ITEMS:
            yield no_tasks(_NAME)
            return
        subject.progress(self.summary, 0.0)
        said, _ = learn_tasks(tasks, subject, TREES, subject.thresholds.tasks.most_items)
        foreign = foreign_pictures(said, tasks.task)
        subject.item_scores[_NAME] = {
            item.id: round(float(chance), 4) for item, chance in zip(tasks.items, foreign.chances, strict=True)
        }
        yield _finding(subject, tasks, said, foreign)


def no_tasks(probe: str) -> Finding:
    """What a probe of tasks says where no tag sorts the items into tasks that pictures tell."""
    return untested(
        probe,
        "no-tasks",
        "No tag of the items can be told from their pictures: whether a picture suits its task is unknown",
        f"A tag with a few values, each on several items, is needed ({_LEAST_ITEMS} items in all).",
    )


def foreign_pictures(said: Floats, task: Ints) -> Foreign:
    """Fit how sure trees may be taken to be, and which share of pictures speaks for tasks as lots would."""
    rows = np.arange(len(task))
    lots = np.log(np.bincount(task, minlength=said.shape[1]) / len(task))[task]
    logs = np.log(said + 1 / TREES)

    def sound(stretch: float) -> Floats:
        return np.asarray(special.log_softmax(np.exp(stretch) * logs, axis=1)[rows, task])

    def surprise(at: Floats) -> float:
        return -float(np.logaddexp(np.log1p(-at[1]) + sound(at[0]), np.log(at[1]) + lots).sum())

    alone = optimize.minimize_scalar(lambda stretch: -sound(stretch).sum(), bounds=(-4, 4), method="bounded")
    limits = [(-4.0, 4.0), (1e-6, _MOST_FOREIGN)]
    tried = [
        optimize.minimize(surprise, [alone.x, share], method="Nelder-Mead", bounds=limits) for share in (0.005, 0.05)
    ]
    best = min(tried, key=lambda one: float(one.fun))
    gained = max(0.0, 2 * (float(alone.fun) - float(best.fun)))
    share = float(best.x[1])
    odds = np.log(share) + lots - np.log1p(-share) - sound(best.x[0])
    return Foreign(share, float(stats.chi2.sf(gained, 1)) / 2 if gained else 1.0, special.expit(odds))


def surest(chances: Floats, rate: float) -> list[int]:
    """The items that are surest, as many as leave a share of ``rate`` that are none after all."""
    order = np.argsort(-chances, kind="stable")
    wrong = np.cumsum(1 - chances[order]) / np.arange(1, len(order) + 1)
    return [int(index) for index in order[: int((wrong <= rate).sum())]]


def _finding(subject: Subject, tasks: Tasks, said: Floats, foreign: Foreign) -> Finding:
    evidence = {}
    for index in surest(foreign.chances, subject.thresholds.tasks.rate):
        own, other = tasks.task[index], int(said[index].argmax())
        evidence[tasks.items[index].id] = (
            f'its {tasks.tag} is "{tasks.names[own]}" ({percent(said[index, own])} of trees say so), '
            f'and its picture looks like "{tasks.names[other]}" ({percent(said[index, other])})'
        )
    right = float((said.argmax(axis=1) == tasks.task).mean())
    none = f"Pictures suit their {tasks.tag} as far as they tell it"
    return Finding(
        probe=_NAME,
        kind="foreign-picture",
        severity="suspect" if evidence else "sound",
        title=f"{len(evidence):,} pictures look like those of another {tasks.tag}" if evidence else none,
        detail=f"From the picture alone trees tell the {tasks.tag} of {percent(right)} of {len(tasks.items):,} items "
        f"({len(tasks.names)} of them), having learnt from the others. Confusions of alike ones apart, about "
        f"{percent(foreign.share)} of pictures have nothing to do with their {tasks.tag}: can the question be "
        f"answered from them? Of those listed, about {percent(subject.thresholds.tasks.rate)} may be good.",
        items=tuple(evidence),
        evidence=evidence,
        p=foreign.p if evidence else None,
        numbers={
            "tag": tasks.tag,
            "tasks": len(tasks.names),
            "n": len(tasks.items),
            "accuracy": right,
            "share": foreign.share,
        },
    )


PROBE = PictureAgainstTask()
