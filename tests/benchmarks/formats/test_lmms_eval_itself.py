"""lmms-eval itself, from its package, loads what we export. Slow: it needs an environment of its own.

EYETEST_LMMS_PYTHON names a Python that has lmms-eval; without it, one is made in .venv-lmms (gigabytes, minutes).
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from eyetest.benchmarks import export_benchmark
from tests.conftest import ROOT
from tests.support.drawn import draw_benchmark

LOAD = """
import json, sys
from lmms_eval.tasks import TaskManager, get_task_dict
manager = TaskManager(include_path=sys.argv[1], include_defaults=False)
task = get_task_dict(["drawn"], manager)["drawn"]
docs = list(task.test_docs())
print("RESULT " + json.dumps([
    {
        "id": doc["id"],
        "text": task.doc_to_text(doc),
        "target": task.doc_to_target(doc),
        "sizes": [image.size for image in task.doc_to_visual(doc)],
        "right": task.process_results(doc, [task.doc_to_target(doc)]),
        "wrong": task.process_results(doc, ["I cannot tell."]),
    }
    for doc in docs
]))
"""


def python_with_lmms_eval() -> str:
    if named := os.environ.get("EYETEST_LMMS_PYTHON"):
        return named
    folder = ROOT / ".venv-lmms"
    python = folder / "bin/python"
    if not (folder / "installed").exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "torch==2.13.0"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "lmms-eval"], check=True)
        (folder / "installed").touch()
    return str(python)


@pytest.mark.slow
def test_lmms_eval_builds_the_task_we_export(tmp_path: Path) -> None:
    benchmark = draw_benchmark(tmp_path / "drawn", items=24)
    export_benchmark(benchmark, "lmms-eval", tmp_path / "task")
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    command = [python_with_lmms_eval(), "-c", LOAD, str(tmp_path / "task")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.split("RESULT ")[1])
    for doc, item in zip(found, benchmark, strict=True):
        assert doc["id"] == item.id
        assert item.question in doc["text"]
        assert doc["sizes"] == [[image.width, image.height] for image in item.images]
        assert doc["target"] == ("ABCDEFGHIJ"[item.gold[0]] if item.choices else item.references[0])
        assert doc["right"] == {"accuracy": 1.0}
        assert doc["wrong"] == {"accuracy": 0.0}
