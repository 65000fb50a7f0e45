"""Pictures in folders named after their class, as every trainer of classifiers has them."""

from pathlib import Path
from typing import Any

from eyetest.records import IMAGE_FORMATS

PICTURE_ENDINGS = (*(f".{name}" for name in IMAGE_FORMATS), ".jpg", ".tif")
CLASS_QUESTION = "What does this picture show?"


def spoken(name: Any) -> str:
    """A name as people write it: files have underscores for blanks."""
    return str(name).replace("_", " ").strip()


def pictures_below(root: Path) -> list[Path]:
    """The pictures in the folders of a folder, whatever their depth, in the order of their names."""
    below = (path for path in sorted(root.rglob("*")) if path.suffix.lower() in PICTURE_ENDINGS)
    return [path for path in below if path.parent != root and path.is_file()]
