"""The card of a benchmark: ``README.md`` as the hub shows it, and ``croissant.json`` for programs.

In: a benchmark folder, what people said of it, what its refinement left. Out: two files beside its items, the same
each time, that say what is in it, what was taken out and why, what is weak, and what nobody knows.
"""

from pathlib import Path

import msgspec

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import CROISSANT, ITEMS, README, SAID
from eyetest.benchmarks.signing import is_as_written, signed
from eyetest.errors import InputError, param
from eyetest.reports.dataset_card.croissant import croissant
from eyetest.reports.dataset_card.front_matter import front_matter
from eyetest.reports.dataset_card.known import Known, survey
from eyetest.reports.dataset_card.layout import EXPORTS
from eyetest.reports.dataset_card.limits import limits, share
from eyetest.reports.dataset_card.markdown import Verbatim, fill
from eyetest.reports.dataset_card.refinement import Records, read_refinement
from eyetest.reports.dataset_card.said import Said, read_said, with_settings, write_said
from eyetest.reports.dataset_card.self_score import SelfScore, self_score
from eyetest.store.replacing import replacing_file
from eyetest.version import __version__

__all__ = [
    "EXPORTS",
    "SAID",
    "Known",
    "Records",
    "Said",
    "SelfScore",
    "card_of",
    "read_said",
    "refuse_edited",
    "self_score",
    "with_settings",
    "write_card",
    "write_readme",
    "write_said",
]


def card_of(benchmark: Benchmark, said: Said, records: Records | None = None) -> Known:
    """Everything that the card of a benchmark will tell."""
    return survey(benchmark, said, read_refinement(records) if records else None)


def write_card(known: Known, benchmark: Benchmark, to: Path) -> None:
    """Write the two files into a folder, each in one step.

    The signed one first: whoever is killed in between leaves nothing behind that looks like a person's.
    """
    described = msgspec.json.format(msgspec.json.encode(croissant(known, benchmark.path / ITEMS)), indent=2)
    write_readme(known, to)
    with replacing_file(to / CROISSANT) as place:
        place.write_bytes(described + b"\n")


def write_readme(known: Known, to: Path) -> None:
    """Write the card for people alone: what lies beside an export, which Croissant does not describe."""
    contents = {
        "known": known,
        "front_matter": Verbatim(front_matter(known)),
        "limits": list(limits(known)),
        "share": share,
        "score": self_score(known),
        "version": __version__,
    }
    with replacing_file(to / README) as place:
        place.write_bytes(signed(fill("dataset_card.md.j2", contents)).encode("utf-8", "replace"))


def refuse_edited(to: Path) -> None:
    """Stop before a card is replaced that a person wrote or changed."""
    there = [name for name in (README, CROISSANT) if (to / name).exists()]
    if there and not is_as_written(to / README):
        raise InputError(
            f"{to / there[0]} was written or changed by a person; say it in {SAID} ({param('said')}) instead, "
            f"or add {param('overwrite', True)}"
        )
