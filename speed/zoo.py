"""Ask the whole embedded zoo, blind and with images: questions a second, everything included.

    python speed/zoo.py [--items 300]

Every model answers every item once; nothing is asked twice, so nothing is read once for several samples.
"""

import argparse
import tempfile
import time
from pathlib import Path

from eyetest_world import load_rates, new_world
from eyetest_world.toy_models.cards import cards

import eyetest as et


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=300)
    items = parser.parse_args().items
    everybody = {card.name: f"embedded:{card.name}" for card in cards().values()}
    birds = {name: spec for name, spec in everybody.items() if cards()[name].sees}
    with tempfile.TemporaryDirectory() as folder:
        bench = new_world(Path(folder) / "world", load_rates("none"), items=items, seed=99)
        et.run(bench, models=everybody, condition="image", limit=1, to=Path(folder) / "warm")
        for modality, models in (("no-image", everybody), ("image", birds)):
            wall, cpu = time.perf_counter(), time.process_time()
            run = et.run(bench, models=models, condition=modality, to=Path(folder) / modality)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            asked = run.responses().num_rows
            print(
                f"{modality:8} {asked:,} questions to {len(models)} models: {asked / wall:,.0f} a second "
                f"({wall:.1f} s, {1000 * cpu / asked:.1f} ms of CPU each)"
            )


if __name__ == "__main__":
    main()
