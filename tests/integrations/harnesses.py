"""Runs in an environment of its own (`make harnesses`): a scripted model under a real harness, on real items."""

import json
import os
import sys
from pathlib import Path
from typing import Any

STYLES = (
    "{letter}",
    "({letter})",
    "The answer is {letter}.",
    "Answer: {letter}",
    "**{letter}**",
    "It is not {other}. The correct option is {letter}",
    "A careful look at the image shows that it must be option {letter}.",
    "I'm sorry, I can't determine this from the image.",
    "",
)
"""How models reply. Harnesses read them differently."""


def reply(number: int, gold: str, letters: str) -> str:
    """The scripted reply to the item of a number: right for three of four, in a style of its own."""
    wrong = letters[(letters.index(gold) + 1) % len(letters)]
    said, other = (gold, wrong) if number % 4 else (wrong, gold)
    return STYLES[number % len(STYLES)].format(letter=said, other=other)


def rows(bench: Path) -> list[dict[str, Any]]:
    import eyetest as et

    found = []
    for number, item in enumerate(et.open(bench)):
        letters = "".join(chr(65 + at) for at in range(len(item.choices)))
        row = {"number": number, "id": item.id, "question": item.question, "letters": letters}
        found.append(row | {"gold": letters[item.gold[0]], "options": [choice.text for choice in item.choices]})
    return found


def block(number: int) -> str:
    """A block of Python of the page about harnesses."""
    page = (Path(__file__).parents[2] / "docs/harnesses.md").read_text("utf-8")
    return page.split("```python\n")[number + 1].partition("```")[0]


def inspect(bench: Path, out: Path) -> None:
    """inspect-ai: our task under their scorer and ours."""
    from inspect_ai.model import ModelAPI, ModelOutput, get_model, modelapi

    from eyetest.errors import InputError
    from eyetest.integrations.inspect_tasks import benchmark

    refused = []
    for wrong in ("image,no-image", "likelihood"):
        try:
            benchmark("mybench", wrong)
        except InputError as error:
            refused.append(str(error).partition(", expected one condition")[0])
    assert refused == ["condition: found 'image,no-image'", "condition: found 'likelihood'"]
    known = rows(bench)
    samples = benchmark("mybench").dataset
    asked = {_content(sample.input[-1]): row for sample, row in zip(samples, known, strict=True)}

    @modelapi("scripted")
    class Scripted(ModelAPI):  # their own mock model counts tokens by a file from the network
        async def generate(self, input: Any, *_: Any, **__: Any) -> Any:  # noqa: A002
            row = asked[_content(input[-1])]
            return ModelOutput.from_content("scripted", reply(row["number"], row["gold"], row["letters"]))

    names: dict[str, Any] = {"model": get_model("scripted/model")}
    exec(block(0), names)
    log = names["log"]
    (named,) = names["eval"]("eyetest/benchmark", model=names["model"], task_args={"path": "mybench"}, limit=2)
    assert named.status == "success", named.error  # found by its name, as on the command line
    scores = {score.name: score.metrics["accuracy"].value for score in log.results.scores}
    scores["unread"] = next(s.metrics["unread"].value for s in log.results.scores if s.name == "extraction")
    (out / "scores.json").write_text(json.dumps(scores | {"log": log.location, "status": log.status}))


def lmms(bench: Path, out: Path) -> None:
    """lmms-eval: the code of its task scienceqa_img, on these items; asked, then asked again from the record."""
    import shutil

    import datasets
    import lmms_eval.tasks
    from lmms_eval.api.model import lmms as base
    from lmms_eval.models import get_model
    from lmms_eval.tasks import TaskManager

    import eyetest as et

    known, opened = rows(bench), et.open(bench)
    docs = [
        {
            "hint": "",
            "question": row["question"],
            "choices": row["options"],
            "answer": row["letters"].index(row["gold"]),
        }
        | {"image": opened.images.open(item.images[0]).convert("RGB")}
        for row, item in zip(known, opened, strict=True)
    ]
    datasets.Dataset.from_list(docs).cast_column("image", datasets.Image()).to_parquet(out / "items.parquet")
    source = Path(lmms_eval.tasks.__file__).parent / "scienceqa"
    task = out / "task"
    shutil.copytree(
        source, task, ignore=lambda _, names: [n for n in names if n not in ("utils.py", "scienceqa_img.yaml")]
    )
    text = (task / "scienceqa_img.yaml").read_text()
    text = text.replace("dataset_path: lmms-lab-encoder/ScienceQA", "dataset_path: parquet")
    text = text.replace("dataset_name: ScienceQA-IMG\n", "").replace('task: "scienceqa_img"', "task: mybench")
    text = text.replace("  token: True", f"  data_files: {{test: {out / 'items.parquet'}}}")
    (task / "scienceqa_img.yaml").write_text(text)

    class Scripted(base):
        """Says what the script says, and counts."""

        asked = 0

        def generate_until(self, requests: Any) -> list[str]:
            self.asked += len(requests)
            found = [known[request.args[3]] for request in requests]
            return [reply(row["number"], row["gold"], row["letters"]) for row in found]

        loglikelihood = generate_until_multi_round = generate_until

    manager, inner = TaskManager(include_path=str(task), include_defaults=False), Scripted()
    for again in (False, True):
        names: dict[str, Any] = {"model": inner, "manager": manager}
        exec(block(1), names)
        assert inner.asked == len(known), (again, inner.asked)  # what was answered is not asked again
    assert get_model("eyetest") is names["EyetestModel"]  # found by its name, as on the command line
    results = names["results"]
    samples = "".join(json.dumps(row, default=str) + "\n" for row in results["samples"]["mybench"])
    (out / "samples.jsonl").write_text(samples)
    score = results["results"]["mybench"]["exact_match,none"]
    (out / "scores.json").write_text(json.dumps({"exact_match": score}))


def vlmevalkit(bench: Path, out: Path) -> None:
    """VLMEvalKit: its multiple-choice dataset on these items, a local model and an API, its exact matching."""
    import eyetest as et

    os.environ |= {"LMUData": str(out), "PRED_FORMAT": "xlsx"}  # where it looks for datasets; how it stores replies
    et.export_file(bench, to=out / "mybench.tsv", format="vlmevalkit")
    from vlmeval.api.base import BaseAPI
    from vlmeval.dataset import build_dataset
    from vlmeval.vlm import BaseModel

    dataset = build_dataset("mybench")
    lines = dataset.data.iterrows()
    known = {json.dumps(dataset.build_prompt(line)): row for (_, line), row in zip(lines, rows(bench), strict=True)}

    def answer(message: Any) -> str:
        row = known[json.dumps(message)]
        return reply(row["number"], row["gold"], row["letters"])

    class Local(BaseModel):
        def generate_inner(self, message: Any, dataset: Any = None) -> str:
            return answer(message)

    class Served(BaseAPI):
        def generate_inner(self, inputs: Any, **_: Any) -> tuple[int, str, str]:
            return 0, answer(inputs), ""

    scores = {}
    for inner in (Local(), Served(retry=1, wait=0)):
        name = type(inner).__name__
        names: dict[str, Any] = {"model": inner, "dataset": build_dataset("mybench")}
        (out / name).mkdir()
        exec(block(2).replace("outputs", f"{out}/{name}").replace("recorded", f"{out}/{name}/recorded"), names)
        file = out / name / "mymodel_mybench.xlsx"
        found = build_dataset("mybench").evaluate(str(file), model="exact_matching", nproc=1)
        scores[name] = float(found["Overall"].iloc[0])
    (out / "scores.json").write_text(json.dumps(scores))


def _content(message: Any) -> str:
    return json.dumps([part.model_dump(exclude={"internal"}) for part in message.content], default=str)


if __name__ == "__main__":
    os.chdir(sys.argv[3])
    Path("mybench").symlink_to(sys.argv[2])
    {"inspect": inspect, "lmms": lmms, "vlmevalkit": vlmevalkit}[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]))
