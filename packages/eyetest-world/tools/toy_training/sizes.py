"""How large networks are; plans and data need to know it, and nothing else about networks."""

from typing import NamedTuple

HEAD = 32
"""Numbers that one head of attention compares."""
GRID = 8
"""Places a side that eyes tell of an image."""


class Size(NamedTuple):
    """How large a model is."""

    width: int
    layers: int
    channels: tuple[int, ...] = ()
    """Of each convolution but the last, which has ``width``; every one halves the image. None: it has no eyes."""
    looks: int = 1
    """Layers in which the 64 places of an image look at each other."""

    @property
    def resolution(self) -> int:
        """Pixels a side that it sees."""
        return GRID * 2 ** (len(self.channels) + 1)
