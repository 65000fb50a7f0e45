"""The YAML on top of a card, by which the hub files a dataset and ``datasets.load_dataset`` opens it."""

from typing import Any

import yaml

from eyetest.pages.texts import clip
from eyetest.reports.dataset_card.known import Known

_SIZES = {
    1_000: "n<1K",
    10_000: "1K<n<10K",
    100_000: "10K<n<100K",
    1_000_000: "100K<n<1M",
    10_000_000: "1M<n<10M",
    100_000_000: "10M<n<100M",
}
"""The hub's words for how many items there are, by what they are fewer than."""
_LONGEST = 200


def front_matter(known: Known) -> str:
    """Only what is known: a language that nobody named is left out."""
    licence, opened = known.licence, known.layout.data_files
    told: dict[str, Any] = {
        "pretty_name": " ".join(clip(known.name, _LONGEST).split()),
        "license": licence.on_the_hub,
        "license_name": " ".join(clip(licence.said, _LONGEST).split()) if licence.on_the_hub == "other" else "",
        "license_link": licence.said if licence.on_the_hub == "other" and licence.said.startswith("https://") else "",
        "language": list(known.said.language),
        "task_categories": _tasks(known),
        "size_categories": [size for most, size in _SIZES.items() if known.manifest.counts.items < most][:1],
        "tags": ["benchmark", "vision-language", "eyetest", *(["eyetest-refined"] if known.refinement else [])],
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": opened}]}] if opened else [],
    }
    return yaml.safe_dump(
        {name: value for name, value in told.items() if value}, sort_keys=False, allow_unicode=True, width=1_000
    )


def _tasks(known: Known) -> list[str]:
    seen = "visual-question-answering" if known.with_pictures else "question-answering"
    return [seen, *(["multiple-choice"] if known.manifest.counts.choice_items else [])]
