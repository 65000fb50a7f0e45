"""Our caption tokens against those of Stanford's tokenizer, as pycocoevalcap 1.2 gave them."""

import json
from pathlib import Path

import pytest

from eyetest.scoring.metrics.captions import caption_tokens

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
def test_examples(text: str, tokens: str) -> None:
    assert caption_tokens(text) == tokens.split()
