"""Images of a dataset, found by the names in its annotations, with what is to be drawn on them."""

import io
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from itertools import takewhile
from pathlib import Path, PurePosixPath

from PIL import ImageDraw

from eyetest.benchmarks.images import ImageStore, decode
from eyetest.benchmarks.rows.reading import ImageLoader, is_file
from eyetest.errors import ImageError, InputError, MissingImage, heading, short
from eyetest.records import IMAGE_FORMATS, ImageRef
from eyetest.reform.annotation import Box
from eyetest.reform.reformers import Shown
from eyetest.wording import counted

_ENDINGS = (*(f".{name}" for name in IMAGE_FORMATS), ".jpg", ".tif")
_NUMBER = re.compile(r"(\d+)$")
_FRAME = "#ff0000"
_THINNEST_FRAME = 2
_PIXELS_A_FRAME = 200  # A frame is one pixel thicker for so many pixels of the image's longer side


class ImageFinder:
    """Put images of a folder into a store, found by path, end of a path, file name, stem, or its last number."""

    def __init__(self, root: Path | None, store: ImageStore) -> None:
        if root is not None and not root.is_dir():
            raise InputError(f"{heading('images')}: {root} is no folder")
        self._root, self._store = root, store
        self._loader = None if root is None else ImageLoader(store, root)
        self._known: dict[Shown, ImageRef] = {}
        self._unusable: dict[str, str] = {}  # unusable images, with the reason

    def take(self, shown: Shown) -> ImageRef:
        """Get an image as it is to be shown; MissingImage where it is missing or damaged."""
        if shown in self._known:
            return self._known[shown]
        try:
            image = self._as_it_is(shown.image)
            if shown.box is not None or shown.crop is not None:
                self._store.finish()
                image = self._store.put(_drawn(self._store.read(image), shown))
        except MissingImage:
            raise
        except ImageError as error:
            name = shown.image if isinstance(shown.image, str) else "one that the annotations hold"
            self._unusable.setdefault(name, str(error))
            raise MissingImage(name) from None
        if len(self._known) < 100_000:
            self._known[shown] = image
        return image

    def notes(self) -> Iterator[str]:
        """Notes for the user on images that could not be used."""
        for name, why in list(self._unusable.items())[:1]:
            several = counted(len(self._unusable), "image")
            yield f"{several} cannot be used and counted as missing; the first is {short(name)}: {why}"

    def _as_it_is(self, name: str | bytes) -> ImageRef:
        if isinstance(name, bytes):
            return self._store.put(name)
        if self._loader is None or self._root is None:
            raise MissingImage(name)
        path = name if is_file(self._root, name) else self._nearest_path(name)
        return self._loader.load({"path": path})[0]

    def _nearest_path(self, name: str) -> str:
        """The only file of the folder that such a name can mean."""
        wanted = PurePosixPath(name.replace("\\", "/"))
        same = self._by_name.get(wanted.name.lower()) or self._by_name.get(wanted.stem.lower(), [])
        if not same and wanted.stem.isdecimal():
            same = self._by_name.get(f"#{int(wanted.stem)}", [])
        alike = defaultdict(list)
        for path in same:
            folders = zip(PurePosixPath(path).parts[-2::-1], wanted.parts[-2::-1], strict=False)
            alike[len(list(takewhile(lambda pair: pair[0] == pair[1], folders)))].append(path)
        best = alike[max(alike)] if alike else []
        if len(best) != 1:
            raise MissingImage(f"{name}: {len(best)} files have that name" if best else name)
        return best[0]

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        assert self._root is not None
        paths: dict[str, list[str]] = defaultdict(list)
        for path in sorted(self._root.rglob("*")):
            if path.suffix.lower() in _ENDINGS and path.is_file():
                relative = path.relative_to(self._root).as_posix()
                paths[path.name.lower()].append(relative)
                paths[path.stem.lower()].append(relative)
                if number := _NUMBER.search(path.stem):
                    paths[f"#{int(number[1])}"].append(relative)
        return dict(paths)


def _drawn(data: bytes, shown: Shown) -> bytes:
    image = decode(data).convert("RGB")
    if shown.box is not None:
        width = max(_THINNEST_FRAME, max(image.size) // _PIXELS_A_FRAME)
        ImageDraw.Draw(image).rectangle(_corners(shown.box, image.size), outline=_FRAME, width=width)
    if shown.crop is not None:
        left, top, right, bottom = _corners(shown.crop, image.size)
        image = image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def _corners(box: Box, size: tuple[int, int]) -> tuple[int, int, int, int]:
    left, top, width, height = box
    x = [round(min(max(at, 0), size[0] - 1)) for at in (left, max(left + width, left))]
    y = [round(min(max(at, 0), size[1] - 1)) for at in (top, max(top + height, top))]
    return x[0], y[0], x[1], y[1]
