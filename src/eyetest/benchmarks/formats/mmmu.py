"""MMMU's Parquet layout: ``image_1`` … ``image_7``, options as text that holds a list. Read by ``parquet``."""

from pathlib import Path

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.formats.parquet import Parquet, write_parquet


class Mmmu(Parquet):
    """The format itself; reading is that of any Parquet file."""

    name = "mmmu"
    summary = "MMMU's Parquet: image_1 … image_7, options as a string that holds a list"

    def recognises(self, path: Path) -> bool:
        """Left to ``parquet``, which reads this layout too."""
        return False

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write one Parquet file."""
        write_parquet(benchmark, to, "mmmu")
        return []


FORMAT = Mmmu()
