"""PyPI's rapidocr: networks on onnxruntime, in this process; slower than tesseract, and all that pip needs.

The models lie in its wheel and are given to it by their paths, so that it has no reason to fetch any.
"""

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from eyetest.ocr.base import ReadLine, ReadWord, scripts_of

_DETECTOR, _RECOGNISER = "PP-OCRv6_det_small.onnx", "PP-OCRv6_rec_small.onnx"
_THREADS = 1
_MOST_LINES = 8
_LEAST_SIDE = 480
"""Smaller pictures are enlarged, as if a page had been meant."""
_KNOWN = 24
"""So many letters of a script are enough to say that it was learnt and not met by accident."""


class RapidOcr:
    """The package's pipeline without its step that turns lines over, which does so wrongly."""

    name = "rapidocr"
    summary = "PyPI's rapidocr, networks in this process"
    rank = 2

    def missing(self) -> str:
        """Where the package is not there."""
        return "" if importlib.util.find_spec("rapidocr") else "pip install 'eyetest[ocr]'"

    def scripts(self) -> frozenset[str]:
        """Those of whose letters it knows many."""
        letters = _pipeline().text_rec.postprocess_op.character
        known: dict[str, int] = {}
        for letter in letters:
            for script in scripts_of(letter):
                known[script] = known.get(script, 0) + 1
        return frozenset(script for script, count in known.items() if count >= _KNOWN)

    def read(self, picture: Image.Image) -> Sequence[ReadLine]:
        """The lines of a picture, from top to bottom."""
        pixels = np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:, :, ::-1])
        output = _pipeline()(pixels, use_cls=False, return_word_box=False)
        if output.boxes is None:
            return []
        return [
            ReadLine(_words(text, np.asarray(box)))
            for text, box in zip(output.txts, output.boxes, strict=True)
            if text.strip()
        ]


def _words(text: str, box: np.ndarray[Any, Any]) -> tuple[ReadWord, ...]:
    """A line's words, each as far along its slanting box as its letters are along the text."""
    words, at = [], 0
    for word in text.split():
        start = text.index(word, at)
        at = start + len(word)
        corners = [_along(box, where / len(text)) for where in (start, at)]
        points = np.concatenate(corners)
        words.append(ReadWord(word, *map(float, (*points.min(axis=0), *points.max(axis=0)))))
    return tuple(words)


def _along(box: np.ndarray[Any, Any], share: float) -> np.ndarray[Any, Any]:
    """The upper and lower point of a box (four corners from the upper left on) at a share of its length."""
    upper_left, upper_right, lower_right, lower_left = box
    return np.array(
        (upper_left + share * (upper_right - upper_left), lower_left + share * (lower_right - lower_left))
    )


@cache
def _pipeline() -> Any:
    from rapidocr import RapidOCR  # noqa: PLC0415 (an extra, and a second to load)

    models = Path(str(importlib.util.find_spec("rapidocr").origin)).parent / "models"  # type: ignore[union-attr]
    pipeline = RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.use_cls": False,
            "Det.limit_side_len": _LEAST_SIDE,
            "Det.model_path": str(models / _DETECTOR),
            "Rec.model_path": str(models / _RECOGNISER),
            "Rec.rec_batch_num": _MOST_LINES,
            "EngineConfig.onnxruntime.intra_op_num_threads": _THREADS,
            "EngineConfig.onnxruntime.inter_op_num_threads": _THREADS,
        }
    )
    pipeline._load_rec_model()
    return pipeline


ENGINE = RapidOcr()
