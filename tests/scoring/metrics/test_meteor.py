"""METEOR says what is missing, and agrees with pycocoevalcap's wrapper where both are there."""

import importlib.util
import shutil

import pytest

from eyetest.errors import MissingExtraError
from eyetest.scoring.metrics import corpus_metric, meteor

from .test_captions import ANSWERS, REFERENCES


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"pip install 'eyetest\[meteor\]'"):
        corpus_metric("meteor").score_all(["a cat"], [["a cat"]])


def test_without_anything_to_score_no_program_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor, "_command", lambda: pytest.fail("started"))
    assert corpus_metric("meteor").score_all(["a cat"], [[]]).overall is None


def test_lines_cannot_be_broken() -> None:
    assert meteor._line(["a|||b", "c\nd", "\x00", "||||||"]) == "ab c d"


def test_golden_values() -> None:
    """As pycocoevalcap 1.2 computed them with METEOR 1.5."""
    if importlib.util.find_spec("pycocoevalcap") is None or shutil.which("java") is None:
        pytest.skip("needs java and eyetest[meteor]")
    found = corpus_metric("meteor").score_all(ANSWERS, REFERENCES)
    assert found.overall == pytest.approx(0.3869754903999895, abs=1e-6)
    assert found.items == pytest.approx(
        (0.4746383708883552, 1.0, 0.08791208791208792, 0.0, 0.5619977923424482), abs=1e-6
    )
