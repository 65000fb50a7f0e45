"""A large classification dataset becomes a benchmark: seconds and memory.

    python speed/reform.py [--records 1000000] [--classes 1000]

Reads a CSV of image names and classes (nouns of WordNet, where it is installed), draws hard negatives, and writes
the benchmark folder, in one process, with nothing kept from another run. Images are not there, as for anybody who
reforms annotations first.
"""

import argparse
import csv
import random
import resource
import tempfile
import time
from pathlib import Path

from eyetest.reform.building import Reforming, reform
from eyetest.reform.catalog import Dataset
from eyetest.reform.distractors.wordnet import find_wordnet


def class_names(count: int) -> list[str]:
    """Nouns for things, or words that nobody knows where there is no WordNet."""
    wordnet = find_wordnet()
    if wordnet is None:
        return [f"class {number}" for number in range(count)]
    things = wordnet.senses("artifact")[0]
    words = (
        word for word, senses in wordnet._offsets.items() if "_" not in word and things in wordnet.above(senses[0])
    )
    return random.Random(0).sample(sorted(words), count)


def write_annotations(path: Path, records: int, classes: list[str]) -> None:
    """One row an image, classes in no order."""
    chance = random.Random(1)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("file", "class"))
        writer.writerows((f"val/{number:08}.jpg", chance.choice(classes)) for number in range(records))


def main() -> None:
    """Measure once."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=1_000)
    given = parser.parse_args()
    fields = {"id": "file", "images": "file", "label": "class"}
    dataset = Dataset(
        name="speed",
        dimension="CG",
        task="classification",
        reader="table",
        read={"fields": fields},
        reformer="classification",
    )
    with tempfile.TemporaryDirectory() as folder:
        annotations = Path(folder) / "annotations.csv"
        write_annotations(annotations, given.records, class_names(given.classes))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        wall, cpu = time.perf_counter(), time.process_time()
        done = reform(Reforming(dataset=dataset, annotations=(annotations,), to=Path(folder) / "benchmark"))
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        written = sum(path.stat().st_size for path in (Path(folder) / "benchmark").rglob("*") if path.is_file())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{done.items:,} items of {given.classes:,} classes: {wall:.1f} s, {cpu:.1f} s CPU")
    print(f"{written / 2**20:,.0f} MB written, {peak:,.0f} MB of memory at most ({before:,.0f} MB before)")


if __name__ == "__main__":
    main()
