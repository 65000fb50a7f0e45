"""How a benchmark lies in the folder that a card is for, and so how it is opened: our own folder, or an export."""

from typing import NamedTuple

from eyetest.benchmarks.folder import ITEMS


class Layout(NamedTuple):
    """What the top of a card tells ``datasets``, and which first steps a card shows."""

    data_files: str
    """What ``load_dataset`` opens; nothing where it opens nothing."""
    pictures_inside: bool
    has_croissant: bool = False


FOLDER = Layout(ITEMS, pictures_inside=False, has_croissant=True)
EXPORTS = {
    "lmms-eval": Layout("data/test-*.parquet", pictures_inside=True),
    "datasets": Layout("", pictures_inside=True),
}
"""By format: exports that are folders which people upload as they are."""
