"""Benchmark folders, and import from and export to other tools' files."""

from eyetest.benchmarks.folder import Benchmark, BenchmarkWriter, copy_without_images, is_benchmark
from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.opening import FORMATS, Import, export_benchmark, import_benchmark, open_benchmark
from eyetest.benchmarks.options import GOLD_STYLES
from eyetest.benchmarks.rows import ReadOptions, parse_map

__all__ = [
    "FORMATS", "GOLD_STYLES", "Benchmark", "BenchmarkWriter", "ImageStore", "Import", "ReadOptions",
    "copy_without_images", "export_benchmark", "import_benchmark", "is_benchmark", "open_benchmark", "parse_map",
]  # fmt: skip
