"""Likelihoods and answers of real architectures, held to a pass for each choice that shares nothing with our code."""

import asyncio
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

pytestmark = pytest.mark.journey

torch = pytest.importorskip("torch", reason="checkpoints need PyTorch: make torch")
transformers = pytest.importorskip("transformers", reason="checkpoints need transformers: make torch")


from eyetest.errors import InputError, MissingExtraError  # noqa: E402
from eyetest.models import Call, Surroundings  # noqa: E402
from eyetest.models.checkpoint import BACKEND, loading  # noqa: E402
from eyetest.models.checkpoint import inference as ways  # noqa: E402
from eyetest.records import Asked, Condition, GrayImage, Item, Message, ModelEntry, Prompt, Request, Words  # noqa: E402
from tests.models.checkpoint.tiny import KINDS  # noqa: E402

CHOICES = ("a red cube", "a red", "two birds", "seventeen birds, or so", "x", "two birds and a cone")
"""With equal beginnings, one that begins another, and a single letter."""
TEMPLATES = ("Say a word.", "Answer briefly, in one or two words.", "")


class Noise:
    """An image of noise for each size."""

    def open(self, part: Any) -> Image.Image:
        rng = np.random.default_rng(part.width * 1000 + part.height)
        return Image.fromarray(rng.integers(0, 256, (part.height, part.width, 3), np.uint8))


def prompts(*, sees: bool) -> list[tuple[str, Prompt]]:
    shown: dict[str, tuple[tuple[int, int], ...]] = {"one": ((30, 40),), "two": ((50, 30), (20, 44)), "none": ()}
    made = []
    for item, sizes in shown.items():
        images = tuple(GrayImage(*size) for size in sizes) if sees else ()
        question = "How many red things are there in the image?" * (2 if item == "two" else 1)
        for template in TEMPLATES:
            parts: tuple[Any, ...] = (*images, Words(f"{question} {template}"))
            made.append((item, Prompt((Message("user", parts),), candidates=CHOICES)))
    return made


def calls(asked: Sequence[tuple[str, Prompt]], settings: dict[str, Any] | None = None) -> list[Call]:
    made = []
    for item, prompt in asked:
        request = Request(model="m", prompt=prompt, settings=settings or {})
        place = Asked(item=item, model="m", **msgspec.structs.asdict(Condition()))
        made.append(Call(place, Item(id=item, question="?"), request, request.id))
    return made


def answers(folder: Path, wanted: Sequence[Call], sampling: dict[str, Any] | None = None) -> tuple[str, list[Any]]:
    async def ask() -> tuple[str, list[Any]]:
        entry = ModelEntry(spec=f"transformers:{folder}", sampling=sampling or {})
        model: Any = BACKEND.make("m", entry, Surroundings(images=Noise()))
        await model.open()
        try:
            return model.way, await model.answer_many(wanted)
        finally:
            await model.close()

    return asyncio.run(ask())


def pass_by_pass(folder: Path, asked: Sequence[tuple[str, Prompt]], *, sees: bool) -> list[list[float]]:
    """Each choice by itself: the processor reads the whole text with its images, the model makes a plain pass."""
    kind = transformers.AutoModelForImageTextToText if sees else transformers.AutoModelForCausalLM
    model = kind.from_pretrained(folder).eval()
    processor = (transformers.AutoProcessor if sees else transformers.AutoTokenizer).from_pretrained(folder)
    sums = []
    for _, prompt in asked:
        parts = prompt.messages[0].parts
        words = parts[-1].text  # type: ignore[union-attr]
        images = [Noise().open(part) for part in parts[:-1]]
        content = [{"type": "image"} for _ in images] + [{"type": "text", "text": words}]
        said = [{"role": "user", "content": content if sees else words}]
        text = processor.apply_chat_template(said, tokenize=False, add_generation_prompt=True)
        shown = {"images": [images]} if images else {}
        read = partial(processor, **shown, return_tensors="pt", add_special_tokens=False)
        start = read(text=[text])["input_ids"].shape[1]
        of_prompt = []
        for choice in prompt.candidates:
            given = read(text=[text + choice])
            with torch.no_grad():
                logs = model(**given).logits[0].log_softmax(-1)
            ids = given["input_ids"][0]
            of_prompt.append(sum(float(logs[at - 1, ids[at]]) for at in range(start, len(ids))))
        sums.append(of_prompt)
    return sums


@pytest.mark.parametrize("kind", KINDS)
def test_trees_give_what_a_pass_for_each_choice_gives(kind: str, checkpoints: Any) -> None:
    folder, sees = checkpoints(kind), kind != "llama"
    asked = prompts(sees=sees)
    expected = pass_by_pass(folder, asked, sees=sees)
    for batch_tokens in (1, 4096):
        way, responses = answers(folder, calls(asked), {"batch_tokens": batch_tokens})
        assert way == "trees"
        for response, sums in zip(responses, expected, strict=True):
            assert response.candidates == pytest.approx(sums, abs=1e-4)
            assert response.candidate_tokens[1] < response.candidate_tokens[0]
    alone = [answers(folder, [call])[1][0].candidates for call in calls(asked[:1])]
    assert alone[0] == pytest.approx(expected[0], abs=1e-4)


@pytest.mark.parametrize("kind", ["llava", "qwen2-vl"])
def test_a_way_that_a_model_does_not_take_is_not_taken(
    kind: str, checkpoints: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = checkpoints(kind)
    asked = prompts(sees=True)
    _, expected = answers(folder, calls(asked))
    right = ways.Weighing.in_trees

    def shifted(self: Any, groups: Any) -> Any:
        weights = right(self, groups)()
        return lambda: [[one - 0.5 for one in group] for group in weights]

    monkeypatch.setattr(ways.Weighing, "in_trees", shifted)
    way, responses = answers(folder, calls(asked))
    assert way == "one by one"
    for response, other in zip(responses, expected, strict=True):
        assert response.candidates == pytest.approx(other.candidates, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_writes_does_not_depend_on_who_is_asked_beside(kind: str, checkpoints: Any) -> None:
    folder = checkpoints(kind)
    asked = [(item, msgspec.structs.replace(prompt, candidates=())) for item, prompt in prompts(sees=kind != "llama")]
    for settings in ({"temperature": 0, "max_tokens": 6}, {"temperature": 0.9, "top_p": 0.9, "max_tokens": 6}):
        wanted = calls(asked, settings)
        together = answers(folder, wanted)[1]
        backwards = answers(folder, wanted[::-1], {"batch_tokens": 1})[1][::-1]
        assert [one.text for one in together] == [one.text for one in backwards]
        assert all(one.tokens_out <= 6 for one in together)
        assert {one.outcome for one in together} <= {"answered", "truncated"}


def test_another_checkpoint_in_the_same_folder_is_another_model(checkpoints: Any, tmp_path: Path) -> None:
    folder = shutil.copytree(checkpoints("llama"), tmp_path / "own")
    before = loading.find_checkpoint(folder)
    weights = folder / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-5] ^= 1
    weights.write_bytes(data)
    assert loading.find_checkpoint(folder).fingerprint != before.fingerprint


def test_bad_folders_are_told_in_a_line(checkpoints: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="is no folder"):
        loading.find_checkpoint(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"has no config\.json"):
        loading.find_checkpoint(tmp_path)
    pickled = shutil.copytree(checkpoints("llama"), tmp_path / "pickled")
    (pickled / "model.safetensors").rename(pickled / "pytorch_model.bin")
    with pytest.raises(InputError, match=r"no \*\.safetensors"):
        loading.find_checkpoint(pickled)
    with pytest.raises(InputError, match='"heat" is no setting'):
        answers(checkpoints("llama"), [], {"heat": 3})
    monkeypatch.setattr(loading, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'eyetest\[transformers\]'"):
        loading.find_checkpoint(tmp_path)


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=9))
def test_every_token_sees_its_own_sequence_and_nothing_else(tails: list[list[int]]) -> None:
    sequences = [[7, 8, 9, *tail] for tail in tails]
    packed = ways.pack(sequences)
    at = np.arange(len(packed))
    sees = (at[None] <= at[:, None]) & (at[:, None] < packed.ends[None])
    for sequence, path in zip(sequences, packed.paths, strict=True):
        assert packed.tokens[path].tolist() == sequence
        assert packed.depths[path].tolist() == list(range(len(sequence)))
        for place, node in enumerate(path):
            assert np.flatnonzero(sees[node]).tolist() == path[: place + 1].tolist()
    beginnings = {tuple(sequence[:end]) for sequence in sequences for end in range(1, len(sequence) + 1)}
    assert len(packed) == len(beginnings)
