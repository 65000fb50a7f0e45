"""Evaluations inside real training loops: transformers' Trainer and Lightning, on a tiny vision-language model."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

torch = pytest.importorskip("torch", reason="training loops need PyTorch: make torch")
transformers = pytest.importorskip("transformers", reason="training loops need transformers: make torch")

import eyetest as et  # noqa: E402
from eyetest.errors import InputError  # noqa: E402
from eyetest.prompts import build  # noqa: E402
from eyetest.records import Words  # noqa: E402
from tests.docs.pages import blocks  # noqa: E402
from tests.models.checkpoint.tiny import make_checkpoint  # noqa: E402

pytestmark = pytest.mark.journey
COLOURS = {"red": (230, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 230), "large": (240, 240, 240)}
STEPS = 40


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return coloured(tmp_path_factory.mktemp("colours"))


def coloured(folder: Path) -> Path:
    """48 images of four colours, and which colour it is."""
    rng, rows = np.random.default_rng(0), []
    for number, name in enumerate([*COLOURS] * 12):
        shade = np.array(COLOURS[name]) + rng.integers(-15, 16, (28, 28, 3))
        Image.fromarray(shade.clip(0, 255).astype(np.uint8)).save(folder / f"{number}.png")
        row = {"id": str(number), "question": "What colour is the image?", "options": [*COLOURS], "answer": name}
        rows.append(row | {"image": f"{number}.png"})
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, rows)))
    et.import_file(folder / "items.jsonl", to=folder / "bench")
    return folder / "bench"


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_checkpoint("llava", tmp_path_factory.mktemp("tiny") / "llava")


def loaded(checkpoint: Path) -> tuple[Any, Any]:
    model = transformers.AutoModelForImageTextToText.from_pretrained(checkpoint)
    with torch.no_grad():
        for weight in model.parameters():
            weight.div_(4 if weight.ndim > 1 else 1)  # back to where training starts
    model.train()
    model.model.vision_tower.eval()
    return model, transformers.AutoProcessor.from_pretrained(checkpoint)


def examples(bench: Path, processor: Any) -> list[dict[str, Any]]:
    """The items as training data: the prompt of the condition likelihood, then the right answer."""
    opened, made = et.open(bench), []
    for item in opened:
        (message,) = build(item, et.Condition(method="likelihood")).messages
        asked = [
            {"type": "text", "text": p.text} if isinstance(p, Words) else {"type": "image"} for p in message.parts
        ]
        talk = [{"role": "user", "content": asked}]
        text = processor.apply_chat_template(talk, add_generation_prompt=True, tokenize=False)
        images = [[opened.images.open(image).convert("RGB") for image in item.images]]
        start = processor(text=[text], images=images, return_tensors="pt")["input_ids"].shape[1]
        answered = [text + item.choices[item.gold[0]].text]
        given = processor(text=answered, images=images, return_tensors="pt")
        labels = given["input_ids"].clone()
        labels[:, :start] = -100
        made.append({name: value[0] for name, value in given.items()} | {"labels": labels[0]})
    return made


def collated(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    pad = torch.nn.utils.rnn.pad_sequence
    return {name: pad([row[name] for row in rows], True, -100 if name == "labels" else 0) for name in rows[0]}


def arguments(to: Path, rate: float) -> Any:
    how = {"max_steps": STEPS, "per_device_train_batch_size": 16, "learning_rate": rate, "use_cpu": True}
    quiet = {"report_to": [], "save_strategy": "no", "disable_tqdm": True, "lr_scheduler_type": "constant"}
    return transformers.TrainingArguments(to, **how, **quiet, seed=0, remove_unused_columns=False)


def train(kind: str, model: Any, data: Any, evaluator: et.Evaluator, to: Path, rate: float = 3e-3) -> Any:
    """Train for 40 steps of 16 examples, evaluated every 20 steps."""
    if kind == "transformers":
        pytest.importorskip("accelerate", reason="the Trainer needs accelerate: make torch")
        args, callbacks = arguments(to, rate), [evaluator.for_trainer(every=20)]
        trainer = transformers.Trainer(model, args, data_collator=collated, train_dataset=data, callbacks=callbacks)
        trainer.train()
        return trainer
    lightning: Any = pytest.importorskip("lightning.pytorch", reason="Lightning: make torch")

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = model

        def training_step(self, batch: Any, _: int) -> Any:
            return self.network(**batch).loss

        def configure_optimizers(self) -> Any:
            return torch.optim.AdamW(self.parameters(), rate)

    torch.manual_seed(0)
    logger = lightning.loggers.CSVLogger(to)
    trainer = lightning.Trainer(
        max_steps=STEPS,
        accelerator="cpu",
        callbacks=[evaluator.for_lightning(every=20)],
        logger=logger,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Module(), torch.utils.data.DataLoader(data, 16, shuffle=True, collate_fn=collated))
    return trainer


@pytest.mark.filterwarnings("ignore")  # of the libraries
@pytest.mark.parametrize("kind", ["transformers", "lightning"])
def test_a_model_that_learns_rises_by_more_than_noise(
    kind: str, bench: Path, checkpoint: Path, tmp_path: Path
) -> None:
    model, processor = loaded(checkpoint)
    evaluator = et.Evaluator(model, bench, "likelihood,likelihood+no-image", processor=processor, to=tmp_path / "run")
    evaluator.evaluate(0)
    assert model.training  # as before, with the frozen part in evaluation mode
    assert not model.model.vision_tower.training
    trainer = train(kind, model, examples(bench, processor), evaluator, tmp_path / "out")
    assert [(row.step, row.before) for row in evaluator.history[::2]] == [(0, None), (20, 0), (40, 20)]
    risen = evaluator.compare(STEPS, 0)
    assert risen.changed
    assert risen.difference is not None
    assert risen.difference > 0.4
    blind = evaluator.compare(STEPS, 0, evaluator.conditions[1])
    assert blind.score < risen.score - 0.3  # it learnt to use the image, not to guess
    # the run folder holds the same, for every other command
    measured = et.measure("accuracy", tmp_path / "run").frame
    shown = {(row["model"], row["modality"]): row["accuracy"] for row in measured.iter_rows(named=True)}
    assert shown[f"step-{STEPS}", "image"] == pytest.approx(risen.score)
    if kind == "transformers":
        logged = [row for row in trainer.state.log_history if "eyetest/likelihood" in row]
        assert [(row["step"], row["eyetest/likelihood"]) for row in logged][-1] == (STEPS, risen.score)
    else:
        trainer.logger.save()
        assert "eyetest/likelihood/p" in next((tmp_path / "out").rglob("metrics.csv")).read_text()


@pytest.mark.filterwarnings("ignore")
def test_a_frozen_model_does_not(
    bench: Path, checkpoint: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the page shows it, at a learning rate of 0."""
    pytest.importorskip("accelerate", reason="the Trainer needs accelerate: make torch")
    monkeypatch.chdir(tmp_path)
    Path("mybench").symlink_to(bench)
    model, processor = loaded(checkpoint)
    names = {"model": model, "processor": processor, "args": arguments(tmp_path / "out", 0.0), "collated": collated}
    (block,) = blocks("training.md", "python")
    exec(block, names | {"data": examples(bench, processor)}, names)
    evaluator = names["evaluator"]
    changes = [(row.difference, row.changed) for row in evaluator.history]
    assert changes == [(None, None), (None, None), (0, False), (0, False)]
    assert "within noise" in capsys.readouterr().out


def test_refusals_are_one_line(bench: Path, checkpoint: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, processor = loaded(checkpoint)
    with pytest.raises(InputError, match="by likelihood"):
        et.Evaluator(model, bench, "image", processor=processor)
    with pytest.raises(InputError, match="between 0 and 1"):
        et.Evaluator(model, bench, processor=processor, level=95)
    evaluator = et.Evaluator(model, bench, processor=processor)
    with pytest.raises(InputError, match="no evaluation at step 7"):
        evaluator.compare(7, 0)
    for callback in (evaluator.for_trainer, evaluator.for_lightning):
        with pytest.raises(InputError, match="every: found 0"):
            callback(every=0)
    evaluator.evaluate(3)
    with pytest.raises(InputError, match="step 3 was evaluated already"):
        evaluator.evaluate(3)
    next(model.parameters()).ds_id = 1  # as DeepSpeed marks weights of which a process holds a part
    with pytest.raises(InputError, match="sharded"):
        evaluator.evaluate(0)
    state = SimpleNamespace(global_step=20, is_world_process_zero=False)
    evaluator.for_trainer(every=20).on_step_end(None, state, None)  # another process evaluates
    hidden = (
        "import sys; sys.modules['lightning'] = None; import eyetest as et\n"
        "try: et.Evaluator.for_lightning(None, every=1)\n"
        "except et.EyetestError as error: print(error)"
    )
    shown = subprocess.run([sys.executable, "-c", hidden], capture_output=True, text=True, check=True)
    assert shown.stdout == "this callback needs lightning: pip install 'eyetest[lightning]'\n"
