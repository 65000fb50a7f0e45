"""MMStar's Parquet layout: one picture, options inside the question text. Read by ``parquet``."""

from pathlib import Path

from eyetest.benchmarks.folder import Benchmark
from eyetest.benchmarks.formats.parquet import Parquet, write_parquet


class Mmstar(Parquet):
    """The format itself; reading is that of any Parquet file."""

    name = "mmstar"
    summary = "MMStar's Parquet: one image, options inside the question text"

    def recognises(self, path: Path) -> bool:
        """Left to ``parquet``, which reads this layout too."""
        return False

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write one Parquet file."""
        write_parquet(benchmark, to, "mmstar")
        return []


FORMAT = Mmstar()
