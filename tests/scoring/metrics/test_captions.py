"""Caption metrics against numbers that pycocoevalcap 1.2 computed on the same tokens, but for verbatim answers."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyetest.errors import MissingExtraError
from eyetest.scoring.metrics import CorpusScore, captions
from eyetest.scoring.metrics.captions import CaptionMetric, bleu_scores, caption_tokens
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
WORDS = st.lists(st.sampled_from("abcdef"), max_size=9)
CORPORA = st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, max_size=4)), min_size=1, max_size=6)


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


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_an_item_without_references_changes_nothing(name: str) -> None:
    metric = corpus_metric(name)
    alone = metric.score_all(ANSWERS, REFERENCES)
    among = metric.score_all(["odd", *ANSWERS], [[], *REFERENCES])
    assert among.overall == alone.overall
    assert among.items == (None, *alone.items)


def test_texts_are_tokenised() -> None:
    plain = corpus_metric("cider").score_all(["a cat on a mat", "x"], [["the cat on a mat"], ["y"]])
    written = corpus_metric("cider").score_all(["A cat, on a mat!", "x."], [["The cat on a mat..."], ["Y"]])
    assert plain == written
    assert plain.overall


def test_cider_of_one_item_is_zero() -> None:
    assert corpus_metric("cider").score_all(["a cat"], [["a cat"]]).overall == 0.0


def test_bleu_corpus_score_is_pooled_not_averaged() -> None:
    found = corpus_metric("bleu-1").score_all(["a b c d", "x"], [["a b c d"], ["y"]])
    assert found.overall == pytest.approx(4 / 5, abs=1e-6)
    assert found.items == pytest.approx((1.0, 0.0), abs=1e-6)


def test_bleu_prefers_the_shorter_of_two_equally_near_lengths() -> None:
    assert corpus_metric("bleu-1").score_all(["a b c"], [["a b", "a b c d"]]).overall == pytest.approx(1, abs=1e-6)


@given(CORPORA)
def test_invariants(corpus: list[tuple[list[str], list[list[str]]]]) -> None:
    answers = [answer for answer, _ in corpus]
    references = [golds for _, golds in corpus]
    for name in GOLDEN:
        found = on_tokens(name, answers, references)
        top = 10.0 if name == "cider" else 1.0
        assert all(score is not None and 0.0 <= score <= top + 1e-9 for score in (found.overall, *found.items))
        turned = on_tokens(name, answers, [golds[::-1] for golds in references])
        assert turned.items == pytest.approx(found.items, abs=1e-9)
        backwards = on_tokens(name, answers[::-1], references[::-1])
        assert backwards.items[::-1] == pytest.approx(found.items, abs=1e-9)
    assert [overall for overall, _ in bleu_scores(answers, references)] == [
        on_tokens(f"bleu-{order}", answers, references).overall for order in range(1, 5)
    ]


@given(st.lists(st.lists(st.text("abcdef", min_size=1), min_size=1, max_size=9), min_size=2, max_size=5))
def test_identical_text_is_perfect(texts: list[list[str]]) -> None:
    same = [[["another"], text] for text in texts]
    for name in ("bleu-1", "bleu-4", "rouge-l"):
        found = on_tokens(name, texts, same)
        assert found.items == (1.0,) * len(texts)
        assert found.overall == 1.0


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'eyetest\[meteor\]'"):
        corpus_metric("meteor").score_all(["a cat"], [["a cat"]])


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


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("A man's dog isn't here.", "a man 's dog is n't here"),
        ("couldn't've", "could n't 've"),
        ("(left)", "-lrb- left -rrb-"),
        ("black-and-white; $5.00, 50%", "black-and-white $ 5.00 50 %"),
        ("at 5 p.m.", "at 5 p.m."),
        ("", ""),
        ("... -- !", ""),
    ],
)
def test_tokens_of_captions(text: str, tokens: str) -> None:
    assert caption_tokens(text) == tokens.split()


def test_identical_text_that_nothing_else_shares_has_full_cider() -> None:
    texts = [["a", "b", "c", "d"], ["e", "f", "g", "h"]]
    assert on_tokens("cider", texts, [[text] for text in texts]).items == pytest.approx((10.0, 10.0))


def test_without_anything_to_score_no_program_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captions, "_command", lambda: pytest.fail("started"))
    assert corpus_metric("meteor").score_all(["a cat"], [[]]).overall is None


def test_lines_cannot_be_broken() -> None:
    assert captions._line(["a|||b", "c\nd", "\x00", "||||||"]) == "ab c d"
