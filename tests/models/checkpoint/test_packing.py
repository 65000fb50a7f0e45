import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from eyetest.models.checkpoint.inference import pack


@given(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=9))
def test_every_token_sees_its_own_sequence_and_nothing_else(tails: list[list[int]]) -> None:
    sequences = [[7, 8, 9, *tail] for tail in tails]
    packed = pack(sequences)
    at = np.arange(len(packed))
    sees = (at[None] <= at[:, None]) & (at[:, None] < packed.ends[None])
    for sequence, path in zip(sequences, packed.paths, strict=True):
        assert packed.tokens[path].tolist() == sequence
        assert packed.depths[path].tolist() == list(range(len(sequence)))
        for place, node in enumerate(path):
            assert np.flatnonzero(sees[node]).tolist() == path[: place + 1].tolist()
    beginnings = {tuple(sequence[:end]) for sequence in sequences for end in range(1, len(sequence) + 1)}
    assert len(packed) == len(beginnings)
