"""An answer is read and scored."""

from eyetest.scoring.judging import is_hit, looks_refused

__all__ = ["is_hit", "looks_refused"]
