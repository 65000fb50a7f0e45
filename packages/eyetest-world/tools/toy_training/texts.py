"""All that is read in a course, written by several processes before the learning begins."""

import multiprocessing
from typing import NamedTuple

from eyetest_world.toy_models.network import Tokens

from toy_training.examples import Reading
from toy_training.leaks import TEXT, WrittenLeaks, leaked_items, write_leaks
from toy_training.lines import LONG, SHORT, Lines, read_texts
from toy_training.plan import Plan

_TESTED = ("fact", "told", "caption", "guess", "leaked")
_MOST_TESTS = 512


class Texts(NamedTuple):
    """What is read, what leaked to each group, and by what the readers are tested."""

    short: Lines
    long: Lines
    leaks: dict[str, WrittenLeaks]
    tests: dict[str, Lines]


def write_texts(plan: Plan, tokens: Tokens, workers: int) -> Texts:
    """The texts of a plan."""
    leaked = leaked_items(plan.world)
    known = leaked.pop(TEXT, [])
    everything = Reading(known, plan.reading)
    count = min(_MOST_TESTS, plan.texts)
    with multiprocessing.get_context("fork").Pool(workers) as processes:
        short, long = (
            [
                processes.apply_async(
                    read_texts, (everything, tokens, all_of_them // workers, length, f"{seed}{end}")
                )
                for seed in (f"{plan.data_seed}/texts/{worker}" for worker in range(workers))
            ]
            for all_of_them, length, end in ((plan.texts, SHORT, ""), (plan.long_texts, LONG, "/long"))
        )
        leaks = {
            group: processes.apply_async(write_leaks, (items, tokens, plan.variants, f"{plan.seed}/leaks/{group}"))
            for group, items in sorted(leaked.items())
        }
        tests = {
            name: processes.apply_async(
                read_texts, (Reading(known, {name: 1.0}), tokens, count, SHORT, f"{plan.seed}/test/{name}")
            )
            for name in _TESTED
            if known or name != "leaked"
        }
        return Texts(
            Lines.joined([one.get() for one in short]),
            Lines.joined([one.get() for one in long]),
            {group: one.get() for group, one in leaks.items()},
            {name: one.get() for name, one in tests.items()},
        )
