"""An eye test for vision-language benchmarks and the models that take them."""

from eyetest.benchmarks import Benchmark, export_benchmark, import_benchmark
from eyetest.benchmarks import open_benchmark as open  # noqa: A004 (et.open is what one types in a notebook)
from eyetest.errors import EyetestError
from eyetest.records import Choice, ImageRef, Item, Lineage, Manifest, Turn
from eyetest.scoring.rules import Reading, read_choice
from eyetest.version import __version__

__all__ = [
    "Benchmark",
    "Choice",
    "EyetestError",
    "ImageRef",
    "Item",
    "Lineage",
    "Manifest",
    "Reading",
    "Turn",
    "__version__",
    "export_benchmark",
    "import_benchmark",
    "open",
    "read_choice",
]
