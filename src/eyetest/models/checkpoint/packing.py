"""Several token sequences laid into one, so that what they share is computed once.

Sequences about one picture begin alike: the picture, most of the question, then a template's own words, then one of
the choices. As a tree, each shared token is one node. The tree is written down depth first; a node may look at its
ancestors and nobody else, and its place in the text is its depth. So one pass over the packed sequence gives every
token the very context that it has in its own sequence.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from eyetest.models.trie import shared_start

Nodes = NDArray[np.int64]


class Continuation(msgspec.Struct, frozen=True):
    """A sequence of tokens, of which those from ``first`` on are to be weighed."""

    tokens: list[int]
    first: int


class Packed(msgspec.Struct, frozen=True):
    """Sequences as one tree, depth first."""

    tokens: Nodes
    depths: Nodes
    """Where each node stands in the sequences that it is part of."""
    ends: Nodes
    """The first node behind each node's descendants: j is an ancestor of i, or i itself, where j <= i < ends[j]."""
    paths: list[Nodes]
    """The nodes of each sequence, from first to last."""

    def __len__(self) -> int:
        return len(self.tokens)


def pack(sequences: Sequence[Sequence[int]]) -> Packed:
    """The tree of some sequences that begin alike."""
    shared = shared_start(sequences)
    tokens, depths = list(sequences[0][:shared]), list(range(shared))
    ends = [0] * shared
    paths: list[list[int]] = [list(range(shared)) for _ in sequences]
    _grow(sequences, list(range(len(sequences))), shared, (tokens, depths, ends, paths))
    ends[:shared] = [len(tokens)] * shared
    return Packed(
        np.array(tokens, np.int64),
        np.array(depths, np.int64),
        np.array(ends, np.int64),
        [np.array(path, np.int64) for path in paths],
    )


def _grow(
    sequences: Sequence[Sequence[int]],
    members: list[int],
    depth: int,
    tree: tuple[list[int], list[int], list[int], list[list[int]]],
) -> None:
    """Add the branches of the sequences that are alike up to some depth, each with all that hangs off it."""
    tokens, depths, ends, paths = tree
    branches: dict[int, list[int]] = {}
    for member in members:
        if depth < len(sequences[member]):
            branches.setdefault(sequences[member][depth], []).append(member)
    for branch in branches.values():
        alike = shared_start([sequences[member][depth:] for member in branch])
        first = len(tokens)
        tokens += sequences[branch[0]][depth : depth + alike]
        depths += range(depth, depth + alike)
        ends += [0] * alike
        for member in branch:
            paths[member] += range(first, first + alike)
        _grow(sequences, branch, depth + alike, tree)
        ends[first : first + alike] = [len(tokens)] * alike
