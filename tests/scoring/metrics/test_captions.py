"""Caption metrics against numbers that pycocoevalcap 1.2 computed on the same tokens, but for verbatim answers."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest

from eyetest.errors import MissingExtraError
from eyetest.scoring.metrics import CorpusScore, captions
from eyetest.scoring.metrics.captions import CaptionMetric, caption_tokens
from tests.scoring.metrics import corpus_metric

ANSWERS = [
    "a cat sits on the red mat",
    "two dogs run",
    "the the the the",
    "",
    "a man riding a horse on the beach at sunset with friends",
]
REFERENCES = [
    ["a cat sat on the mat", "the cat is on a red mat", "there is a cat"],
    ["two dogs run", "a pair of dogs running in a field"],
    ["the cat is on the mat"],
    ["something here", "nothing"],
    [
        "a man rides a horse along the beach",
        "a man riding a horse on the beach",
        "person on a horse at sunset near the sea with some friends and dogs",
    ],
]
GOLDEN = {
    "cider": (1.864344662472027, [1.698248235278417, 3.8284755780580797, 0.617811215964089, 0.0, 3.1771882830595493]),
    "rouge-l": (0.599211814610269, [0.7800511508951408, 1.0, 0.3860759493670886, 0.0, 0.8299319727891156]),
    "bleu-1": (0.7298545476574084, [0.8571428568979593, 1.0, 0.30326532970468434, 0.0, 0.846481724749534]),
    "bleu-2": (0.5965123095376939, [0.6546536705131399, 1.0, 7.83028e-09, 0.0, 0.7218820403913988]),
    "bleu-3": (0.4851194961055775, [4.409111381704975e-06, 1.0, 2.6e-11, 0.0, 0.6420474178311444]),
    "bleu-4": (0.42826984486941455, [1.2098967e-08, 1.0, 1.8e-12, 0.0, 0.5939660169410684]),
}


def on_tokens(name: str, answers: list[list[str]], references: list[list[list[str]]]) -> CorpusScore:
    metric = corpus_metric(name)
    assert isinstance(metric, CaptionMetric)
    return metric.score_tokens(answers, references)


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_golden_values(name: str) -> None:
    overall, items = GOLDEN[name]
    found = on_tokens(name, [text.split() for text in ANSWERS], [[t.split() for t in texts] for texts in REFERENCES])
    assert found.overall == pytest.approx(overall, abs=1e-9)
    assert found.items == pytest.approx(items, abs=1e-9)


def test_meteor_without_its_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without anything to score the program is not looked for; lines for it cannot be broken."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'eyetest\[meteor\]'"):
        corpus_metric("meteor").score_all(["a cat"], [["a cat"]])
    assert corpus_metric("meteor").score_all(["a cat"], [[]]).overall is None
    assert captions._line(["a|||b", "c\nd", "\x00", "||||||"]) == "ab c d"


def test_golden_values_of_meteor() -> None:
    """As pycocoevalcap 1.2 computed them with METEOR 1.5."""
    if importlib.util.find_spec("pycocoevalcap") is None or shutil.which("java") is None:
        pytest.skip("needs java and eyetest[meteor]")
    found = corpus_metric("meteor").score_all(ANSWERS, REFERENCES)
    assert found.overall == pytest.approx(0.3869754903999895, abs=1e-6)
    assert found.items == pytest.approx(
        (0.4746383708883552, 1.0, 0.08791208791208792, 0.0, 0.5619977923424482), abs=1e-6
    )


TREEBANK = Path(__file__).parent / "treebank"


@pytest.mark.parametrize(("file", "count", "agreeing"), [("fitted.jsonl", 320, 314), ("held_out.jsonl", 100, 92)])
def test_agreement_is_what_the_docstring_says(file: str, count: int, agreeing: int) -> None:
    pairs = [json.loads(line) for line in (TREEBANK / file).read_text().splitlines()]
    same = [" ".join(caption_tokens(sentence)) == tokens for sentence, tokens in pairs]
    assert (len(same), sum(same)) == (count, agreeing)
