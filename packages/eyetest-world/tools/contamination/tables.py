"""``python -m contamination.tables FOLDER TO``: answers of all models as Parquet tables, in two halves."""

import sys
from pathlib import Path

import numpy as np
import polars as pl

from contamination import declare, rows

_EDITIONS = ("original", "twin-1", "twin-2", "twin-3", "fresh")


def main() -> None:
    """Write questions, letters and texts."""
    folder, to = Path(sys.argv[1]), Path(sys.argv[2])
    stored = {trunk: np.load(folder / f"{trunk}.npz") for trunk in declare.TRUNKS}
    families = declare.families()
    asked = [
        {
            "family": one.family,
            "edition": _EDITIONS[one.edition],
            "image": one.image,
            "order": "".join(map(str, one.order)),
            "gold": one.gold,
            "as_written": one.order
            == (families[one.family].fresh_order if one.edition == 4 else families[one.family].order),
        }
        for one in rows.questions(families)
    ]
    write(pl.DataFrame(asked), to / "questions.parquet")
    for half in ("open", "sealed"):
        names = {one.name for one in declare.models() if one.half == half}
        letters, texts = {}, {}
        for part in stored.values():
            for index, name in enumerate(part["names"].tolist()):
                if name in names:
                    letters[name] = part["letters"][index].reshape(-1)
                    texts[name] = part["texts"][index].reshape(-1).astype(np.float32)
        write(pl.DataFrame(letters), to / f"letters-{half}.parquet")
        rounded = {name: np.minimum(np.rint(-values / 0.05), 255).astype(np.uint8) for name, values in texts.items()}
        write(pl.DataFrame(rounded), to / f"texts-{half}.parquet")


def write(table: pl.DataFrame, to: Path) -> None:
    """Write a small Parquet file."""
    table.write_parquet(to, compression="zstd", compression_level=19, statistics=False)


if __name__ == "__main__":
    main()
