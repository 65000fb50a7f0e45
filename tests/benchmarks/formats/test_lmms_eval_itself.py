"""lmms-eval itself, from its package, loads what we export."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from eyetest.benchmarks import export_benchmark
from tests.conftest import ROOT
from tests.support.drawn import draw_benchmark

PYTHON = ROOT / ".venv-harnesses/bin/python"
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


@pytest.mark.slow
def test_lmms_eval_builds_the_task_we_export(tmp_path: Path) -> None:
    if not PYTHON.exists():
        pytest.skip("other harnesses are in an environment of their own: make harnesses")
    benchmark = draw_benchmark(tmp_path / "drawn", items=24)
    export_benchmark(benchmark, "lmms-eval", tmp_path / "task")
    environment = {**os.environ, "HF_HOME": str(tmp_path / "hf"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    command: list[str | Path] = [PYTHON, "-c", LOAD, str(tmp_path / "task")]
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
