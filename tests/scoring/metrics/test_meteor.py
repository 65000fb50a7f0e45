"""METEOR says what is missing, and agrees with pycocoevalcap's wrapper where both are there."""

import pytest

from eyetest.scoring.metrics import meteor
from tests.scoring.metrics import corpus_metric


def test_without_anything_to_score_no_program_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor, "_command", lambda: pytest.fail("started"))
    assert corpus_metric("meteor").score_all(["a cat"], [[]]).overall is None


def test_lines_cannot_be_broken() -> None:
    assert meteor._line(["a|||b", "c\nd", "\x00", "||||||"]) == "ab c d"
