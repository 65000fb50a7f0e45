"""What finish reasons mean: an allow list, in every spelling, with the user's own words."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from eyetest.records import finishes
from eyetest.records.finishes import finish_words, known_finishes, read_finish, stored_outcome, worst_finish

MEANINGS = {
    "stop": "answered",
    "STOP": "answered",
    "FinishReason.STOP": "answered",
    "FINISH_REASON_STOP": "answered",
    "StopReason.END_TURN": "answered",
    "endTurn": "answered",
    "end-turn": "answered",
    "<|im_end|>": "answered",
    "stop: <|eot_id|>": "answered",
    "eos": "answered",
    "EOS_TOKEN": "answered",
    "COMPLETE": "answered",
    "MaxTokens": "truncated",
    "max-tokens": "truncated",
    "MAX_TOKENS": "truncated",
    "model_length": "truncated",
    "length (max_tokens)": "truncated",
    "stop (length)": "truncated",
    "max_response_tokens_length": "truncated",
    "SAFETY": "blocked",
    "content_filter: X": "blocked",
    "content-filtered by provider": "blocked",
    "PROHIBITED_CONTENT": "blocked",
    "image_safety_violation": "blocked",
    "tool_calls": "tool call",
    "function_call": "tool call",
    "toolUse": "tool call",
    "error": "failed",
    "abort": "failed",
    "aborted by user": "failed",
    "engine_error": "failed",
    "error: upstream": "failed",
    "OTHER": "failed",
    "stopped": "unknown",
    "not_stop": "unknown",
    "flux": "unknown",
    "done": "answered",
    "</s>": "answered",
    "<|eot_id|>": "answered",
    "stop_id": "answered",
    "not done": "unknown",
    "": "unsaid",
    "null": "unsaid",
    " ": "unsaid",
}


@pytest.mark.parametrize("word", MEANINGS)
def test_words(word: str) -> None:
    assert read_finish(word) == MEANINGS[word]


@pytest.mark.parametrize(
    ("value", "word"),
    [
        ({"type": "stop", "matched": 2}, "stop"),
        ({"code": "error", "message": "x"}, "error"),
        ({"Stop": "eos"}, "Stop"),
        (["length"], "length"),
        ([], ""),
        (None, ""),
        (2, "2"),
        ({"type": {"type": "abort"}}, "abort"),
        ({"type": "stop", "code": "timeout"}, "timeout"),
        ({"type": "stop", "code": 7001}, "stop"),
        ({"eos": False}, "not eos"),
        (False, "False"),
    ],
)
def test_forms(value: object, word: str) -> None:
    assert worst_finish(finish_words(value)) == word


def test_the_worst_known_word_counts() -> None:
    """An unknown word counts only where it stands first and no other one is worse than an answer."""
    assert worst_finish(["stop", "flux", "length", "safety"]) == "safety"
    assert worst_finish(["flux", "stop"]) == "flux"
    assert worst_finish(["flux", "length"]) == "length"
    assert worst_finish(["", "null", "stop"]) == "stop"
    assert worst_finish(["stop", "length"], {"length": "answered"}) == "stop"
    assert worst_finish([]) == ""


def test_no_word_has_two_meanings() -> None:
    """The same word of two frameworks means the same."""
    table = yaml.safe_load(Path(finishes.__file__).with_suffix(".yaml").read_text("utf-8"))["frameworks"]
    for endings in table.values():
        for ending, words in endings.items():
            for word in words:
                assert known_finishes()[str(word)] == ending == read_finish(str(word)), word


@given(st.text(st.characters(), max_size=30))
def test_only_listed_words_are_answers(word: str) -> None:
    """Whatever a server says that nobody has listed, it is not an answer."""
    listed = {known for known, ending in known_finishes().items() if ending == "answered"}
    if read_finish(word) == "answered":
        assert any(
            known.replace("_", "") in word.lower().replace("_", "") or known in word.lower() for known in listed
        )


def test_own_words_win() -> None:
    assert read_finish("FLUX", {"flux": "answered"}) == "answered"
    assert read_finish("length", {"Length": "answered"}) == "answered"
    assert stored_outcome("failed", "flux", "unknown-finish", {"flux": "truncated"}) == "truncated"
    assert stored_outcome("failed", "stop", "server") == "failed"
    assert stored_outcome("answered", "recorded", "") == "answered"
    assert stored_outcome("truncated", "", "") == "truncated"
