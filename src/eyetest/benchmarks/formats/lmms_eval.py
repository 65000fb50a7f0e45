"""A task folder that lmms-eval loads with ``--include_path``: Parquet, the task's YAML, the functions it names."""

import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from eyetest.benchmarks.folder import Benchmark, refuse_gold_list
from eyetest.benchmarks.formats.parquet import Parquet, write_parquet

_TASK = "eyetest_task.yaml"
_DATA = "data/test-00000-of-00001.parquet"
_FUNCTIONS = ("doc_to_visual", "doc_to_text", "doc_to_target", "process_results")


class _Function(str):
    """A name that YAML writes as ``!function utils.name``."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(_Function, lambda dumper, name: dumper.represent_scalar("!function", f"utils.{name}"))


class LmmsEval(Parquet):
    """The format itself; reading is that of any folder of Parquet files."""

    is_folder = True

    def __init__(self) -> None:
        summary = "a task folder for lmms-eval: Parquet, task YAML and utils.py, loaded with --include_path"
        super().__init__("lmms-eval", summary, "plain")

    def recognises(self, folder: Path) -> bool:
        """A folder with a task file of ours; other Parquet folders are left to ``parquet``."""
        return (folder / _TASK).is_file()

    def write(self, benchmark: Benchmark, to: Path, final: Path) -> list[str]:
        """Write the task folder."""
        refuse_gold_list(benchmark, f"write for {self.name}")
        (to / "data").mkdir(parents=True)
        write_parquet(benchmark, to / _DATA, "plain")
        source = files("eyetest.benchmarks.formats.support").joinpath("lmms_eval_task.py")
        (to / "utils.py").write_bytes(source.read_bytes())
        task = _task(benchmark, final.resolve() / _DATA)
        text = yaml.dump(task, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
        (to / _TASK).write_text("# data_files is an absolute path: change it if you move this folder.\n" + text)
        return [f"run it with: lmms-eval --include_path {final} --tasks {task['task']} --model …"]


def _task(benchmark: Benchmark, data: Path) -> dict[str, Any]:
    manifest = benchmark.manifest
    return {
        "task": re.sub(r"\W+", "_", manifest.name).strip("_").lower() or "benchmark",
        "dataset_path": "parquet",
        "dataset_kwargs": {"data_files": {"test": str(data)}},
        "test_split": "test",
        "output_type": "generate_until",
        **{name: _Function(name) for name in _FUNCTIONS},
        "generation_kwargs": {"max_new_tokens": 1024, "temperature": 0, "do_sample": False},
        "metric_list": [{"metric": "accuracy", "aggregation": "mean", "higher_is_better": True}],
        "metadata": [{"version": manifest.version, "fingerprint": manifest.fingerprint}],
    }


FORMAT = LmmsEval()
