"""The card of a benchmark: ``README.md`` as the hub shows it, and ``croissant.json`` for programs.

In: a benchmark folder, what people said of it, what its refinement left. Out: two files beside its items, the same
each time, that say what is in it, what was taken out and why, what is weak, and what nobody knows.
"""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from eyetest.benchmarks import Benchmark
from eyetest.benchmarks.folder import CROISSANT, ITEMS, README, SAID
from eyetest.errors import InputError, param
from eyetest.pages.page import Verbatim, clip, fill_markdown
from eyetest.reports.dataset_card.assessment import SelfScore, limits, self_score, share
from eyetest.reports.dataset_card.croissant import croissant
from eyetest.reports.dataset_card.known import EXPORTS, Known, survey
from eyetest.reports.dataset_card.statements import Statements, read_said, with_settings, write_said
from eyetest.reports.refinements import Records, read_refinement
from eyetest.store import replacing_file
from eyetest.store.files import is_as_written, signed

__all__ = ["EXPORTS", "SAID", "Known", "Records", "SelfScore", "Statements", "card_of", "read_said", "refuse_edited",
           "self_score", "with_settings", "write_card", "write_readme", "write_said"]  # fmt: skip
_SIZES = {10**3: "n<1K", 10**4: "1K<n<10K", 10**5: "10K<n<100K", 10**6: "100K<n<1M", 10**7: "1M<n<10M",
          10**8: "10M<n<100M"}  # fmt: skip
"""The hub's words for how many items there are, by what they are fewer than."""
_LONGEST = 200


def card_of(benchmark: Benchmark, said: Statements, records: Records | None = None) -> Known:
    """Everything that the card of a benchmark will tell."""
    return survey(benchmark, said, read_refinement(records) if records else None)


def write_card(known: Known, benchmark: Benchmark, to: Path) -> None:
    """Write the two files into a folder, each in one step.

    The signed one first: whoever is killed in between leaves nothing behind that looks like a person's.
    """
    described = msgspec.json.format(msgspec.json.encode(croissant(known, benchmark.path / ITEMS)), indent=2)
    write_readme(known, to)
    with replacing_file(to / CROISSANT) as file:
        file.write_bytes(described + b"\n")


def write_readme(known: Known, to: Path) -> None:
    """Write the card for people alone: what lies beside an export, which Croissant does not describe."""
    contents = {
        "known": known,
        "front_matter": Verbatim(_front_matter(known)),
        "limits": list(limits(known)),
        "share": share,
        "score": self_score(known),
    }
    with replacing_file(to / README) as file:
        file.write_bytes(signed(fill_markdown("dataset_card.md.j2", contents)).encode("utf-8", "replace"))


def refuse_edited(to: Path) -> None:
    """Stop before a card is replaced that a person wrote or changed."""
    there = [name for name in (README, CROISSANT) if (to / name).exists()]
    if there and not is_as_written(to / README):
        raise InputError(
            f"{to / there[0]} was written or changed by a person; say it in {SAID} ({param('said')}) instead, "
            f"or add {param('overwrite', True)}"
        )


def _front_matter(known: Known) -> str:
    """The YAML on top, by which the hub files a dataset and ``datasets`` opens it: only what is known."""
    licence, opened = known.licence, known.layout.data_files
    seen = "visual-question-answering" if known.with_pictures else "question-answering"
    told: dict[str, Any] = {
        "pretty_name": " ".join(clip(known.name, _LONGEST).split()),
        "license": licence.on_the_hub,
        "license_name": " ".join(clip(licence.said, _LONGEST).split()) if licence.on_the_hub == "other" else "",
        "license_link": licence.said if licence.on_the_hub == "other" and licence.said.startswith("https://") else "",
        "language": list(known.said.language),
        "task_categories": [seen, *(["multiple-choice"] if known.manifest.counts.choice_items else [])],
        "size_categories": [size for most, size in _SIZES.items() if known.manifest.counts.items < most][:1],
        "tags": ["benchmark", "vision-language", "eyetest", *(["eyetest-refined"] if known.refinement else [])],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": opened}]}] if opened else [],
    }
    kept = {name: value for name, value in told.items() if value}
    return yaml.safe_dump(kept, sort_keys=False, allow_unicode=True, width=1_000)
