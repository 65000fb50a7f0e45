"""Which tag of a benchmark its pictures tell, and what they say of it: trees learn the tag from sketches of pictures.

Many benchmarks sort their items by task, topic or source, and each has pictures of its own kind. The tag that
pictures tell best is taken; what they say of each item is said by trees that did not learn from that item.
"""

from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy import stats
from sklearn.ensemble import ExtraTreesClassifier

from eyetest.measures.stats.sets import group_folds
from eyetest.probes.features import Floats, Ints
from eyetest.probes.pictures import picture_facts
from eyetest.probes.shortcuts import image_groups
from eyetest.probes.sketches import Sketch, columns_of
from eyetest.probes.subject import Subject, by_tags
from eyetest.records import Item

LEAST_OF_A_TASK = 6
"""Items; of fewer nobody knows what their pictures look like."""
_LEAST_COVERED = 0.5
"""A tag that leaves more of the items without a task of this size does not sort them."""
_GLANCE_TREES = 20
_GLANCE_ITEMS = 600
"""So few are enough to see which tag is told best."""
_SURE = 0.001
"""How rarely a tag that pictures do not tell may be taken for one that they do."""
TREES = 200
_COLUMNS_TRIED = 0.1
"""Share of the columns that each split chooses from."""


class Tasks(NamedTuple):
    """Items with a picture, sorted by a tag."""

    tag: str
    """Empty where no tag sorts the items: all are one task then."""
    names: list[str]
    items: list[Item]
    sketches: list[Sketch]
    task: Ints
    """By item, which of ``names`` it is."""

    def members(self) -> list[Ints]:
        """By task, the items that are of it."""
        return [np.flatnonzero(self.task == number) for number in range(len(self.names))]


_known: WeakKeyDictionary[Subject, Tasks | None] = WeakKeyDictionary()


def tasks_told(subject: Subject) -> Tasks | None:
    """The tasks that pictures tell best, or none where they tell no tag; found once for a subject."""
    if subject not in _known:
        _known[subject] = _told_best(subject)
    return _known[subject]


def pictured(subject: Subject) -> tuple[list[Item], list[Sketch]]:
    """Items whose first picture can be compared, and its sketch."""
    facts = picture_facts(subject)
    firsts = [(item, facts[item.images[0].sha256]) for item in subject.items if item.images]
    seen = [(item, fact.sketch) for item, fact in firsts if fact.comparable and fact.sketch is not None]
    return [item for item, _ in seen], [sketch for _, sketch in seen]


def _told_best(subject: Subject) -> Tasks | None:
    items, sketches = pictured(subject)
    where = {item.id: index for index, item in enumerate(items)}
    best, most = None, 0.0
    for tag, groups in by_tags(items).items():
        large = {name: group for name, group in groups.items() if len(group) >= LEAST_OF_A_TASK}
        indices = [where[item.id] for group in large.values() for item in group]
        if len(large) < 2 or len(indices) < max(_LEAST_COVERED * len(items), subject.thresholds.min_items):
            continue
        task = np.repeat(np.arange(len(large)), [len(group) for group in large.values()])
        order = np.argsort(indices)
        chosen = [indices[index] for index in order]
        tasks = Tasks(tag, list(large), [items[i] for i in chosen], [sketches[i] for i in chosen], task[order])
        bits = _bits_told(tasks, subject)
        if bits > most:
            best, most = tasks, bits
    return best


def _bits_told(tasks: Tasks, subject: Subject) -> float:
    """How much a glance at the pictures says of the tag; nothing where luck would say as much."""
    subject.progress("learning which tag pictures tell", 0.0)
    chances, learnt = learn_tasks(tasks, subject, _GLANCE_TREES, _GLANCE_ITEMS)
    task = tasks.task[learnt]
    shares = np.bincount(tasks.task, minlength=len(tasks.names)) / len(tasks.task)
    hits = int((chances[learnt].argmax(axis=1) == task).sum())
    if stats.binom.sf(hits - 1, len(task), shares.max()) > _SURE:
        return 0.0
    own = (chances[learnt, task] * _GLANCE_TREES + shares[task]) / (_GLANCE_TREES + 1)
    return float(np.mean(np.log2(own / shares[task])))


def learn_tasks(tasks: Tasks, subject: Subject, trees: int, most_items: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """What trees say of each item's task, never those that learnt from it or its picture; and whom they learnt from.

    Beyond ``most_items`` a sample is learnt from; of the others speak the trees that did not learn from their fold.
    """
    rng = subject.rng("picture-tasks", tasks.tag, trees)
    folds = group_folds(image_groups(tasks.items), subject.thresholds.shortcuts.folds, rng)
    learnt = np.ones(len(folds), dtype=bool)
    learnt[rng.permutation(len(folds))[most_items:]] = False
    columns = columns_of(tasks.sketches)
    chances = np.zeros((len(folds), len(tasks.names)))
    for fold in np.unique(folds):
        told = folds == fold
        taught = learnt & ~told
        if taught.any():
            forest = ExtraTreesClassifier(trees, max_features=_COLUMNS_TRIED, random_state=int(rng.integers(2**31)))
            forest.fit(columns[taught], tasks.task[taught])
            chances[np.ix_(told, forest.classes_)] = forest.predict_proba(columns[told])
    return chances, learnt
