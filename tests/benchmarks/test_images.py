import base64
import io
import os
import struct
import warnings
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from eyetest.benchmarks.images import MAX_BYTES, ImageLoader, ImageStore, decode, decode_base64, inspect
from eyetest.errors import ImageError
from tests.conftest import png


def saved(kind: str, size: tuple[int, int] = (31, 17)) -> bytes:
    data = io.BytesIO()
    Image.effect_noise(size, 50).convert("RGB").save(data, kind)
    return data.getvalue()


def png_header(width: int, height: int, *chunks: bytes) -> bytes:
    def chunk(name: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + b"".join(chunks) + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
def test_every_format_is_taken_and_opened(tmp_path: Path, kind: str) -> None:
    store = ImageStore(tmp_path)
    image = store.put(saved(kind))
    assert (image.format, image.width, image.height) == (kind.lower(), 31, 17)
    assert store.read(image) == (store.root / image.filename[:2] / image.filename).read_bytes()
    assert store.open(image).size == (31, 17)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF"])
@pytest.mark.parametrize("share", [0.3, 0.9])
def test_data_that_ends_early_is_found(kind: str, share: float) -> None:
    data = saved(kind)
    with pytest.raises(ImageError):
        inspect(data[: int(len(data) * share)], "0" * 64)


def test_a_sound_image_with_bytes_after_its_end_is_taken() -> None:
    assert inspect(saved("JPEG") + b"\0" * 40, "0" * 64).width == 31
    assert inspect(png() + b"trailer", "0" * 64).width == 8


@pytest.mark.parametrize("size", [(30_000, 30_000), (10_001, 10_000), (2**31 - 1, 2**31 - 1)])
def test_too_many_pixels_are_refused_unopened(size: tuple[int, int]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ImageError, match="pixels"):
            inspect(png_header(*size), "0" * 64)


def test_a_compressed_bomb_inside_a_image_is_refused() -> None:
    bomb = zlib.compress(b"\0" * (200 * 2**20), 9)
    text = b"Comment\0\0" + bomb
    chunk = struct.pack(">I", len(text)) + b"zTXt" + text + struct.pack(">I", zlib.crc32(b"zTXt" + text))
    with pytest.raises(ImageError):
        decode(png_header(8, 8, chunk))


def test_too_many_bytes_are_refused() -> None:
    with pytest.raises(ImageError, match="at most 64 MB"):
        inspect(png() + b"\0" * MAX_BYTES, "0" * 64)


RED, BLUE = png("red"), png("blue")
RED64, BLUE64 = base64.b64encode(RED).decode(), base64.b64encode(BLUE).decode()


class Setting:
    """A dataset's folder with two images, a file outside of it, and a loader."""

    def __init__(self, base: Path) -> None:
        self.root = base / "data"
        (self.root / "sub").mkdir(parents=True)
        (self.root / "red.png").write_bytes(RED)
        (self.root / "sub" / "blue.png").write_bytes(BLUE)
        self.outside = base / "outside.png"
        self.outside.write_bytes(RED)
        self.store = ImageStore(base / "store")
        self.loader = ImageLoader(self.store, self.root)

    def load(self, value: Any) -> list[bytes]:
        images = self.loader.load(value)
        return [self.store.read(image) for image in images]


@pytest.fixture
def setting(tmp_path: Path) -> Setting:
    return Setting(tmp_path)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, []),
        ("", []),
        ([], []),
        ({}, []),
        ({"bytes": None, "path": None}, []),
        ({"bytes": b"", "path": ""}, []),
        (RED, [RED]),
        ({"bytes": RED, "path": None}, [RED]),
        ({"bytes": RED, "path": "/gone/away.png"}, [RED]),
        ({"bytes": None, "path": "red.png"}, [RED]),
        ({"path": "sub/blue.png"}, [BLUE]),
        ([RED, BLUE], [RED, BLUE]),
        ((BLUE, None, RED), [BLUE, RED]),
        ([RED, RED], [RED, RED]),
        ([{"bytes": RED}, "sub/blue.png", BLUE64], [RED, BLUE, BLUE]),
        (RED64, [RED]),
        (f"data:image/png;base64,{RED64}", [RED]),
        ("\n".join(RED64[i : i + 20] for i in range(0, len(RED64), 20)), [RED]),
        ("\r\n".join(RED64[i : i + 20] for i in range(0, len(RED64), 20)) + "\r\n", [RED]),
        (str([RED64, BLUE64]), [RED, BLUE]),
        (f'["{RED64}", "sub/blue.png"]', [RED, BLUE]),
        ("red.png", [RED]),
        ("./red.png", [RED]),
        ("sub/../red.png", [RED]),
        ("['red.png', 'sub/blue.png']", [RED, BLUE]),
        ("[]", []),
    ],
)
def test_every_form_of_a_image_is_taken_in(setting: Setting, value: Any, expected: list[bytes]) -> None:
    assert setting.load(value) == expected


OUTSIDE = "../outside.png sub/../../outside.png {outside} link.png folder/outside.png ../gone.png /gone/away.png"


@pytest.mark.parametrize("value", OUTSIDE.split())
@pytest.mark.parametrize("as_struct", [False, True])
def test_a_path_that_leaves_the_folder_is_refused(setting: Setting, value: str, as_struct: bool) -> None:
    (setting.root / "link.png").symlink_to(setting.outside)
    (setting.root / "folder").symlink_to(setting.root.parent)
    path = value.format(outside=setting.outside)
    with pytest.raises(ImageError, match="which leaves"):
        setting.loader.load({"path": path} if as_struct else path)
    assert len(setting.store) == 0
    assert setting.loader.files == {}


def test_a_link_that_stays_inside_is_followed(setting: Setting) -> None:
    (setting.root / "link.png").symlink_to(setting.root / "red.png")
    assert setting.load("link.png") == [RED]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("gone.png", r"path 'gone\.png' in .* \(no such file or directory\)"),
        ({"path": "gone.png"}, r"path 'gone\.png' in .* \(no such file or directory\)"),
        ("sub", r"path 'sub' in .* \(not a file\)"),
        ("red.png/x.png", r"\(not a directory\)"),
        ("re\0d.png", r"path 're\\x00d.png'"),
        ({"path": "re\0d.png"}, r"path 're\\x00d.png'"),
        ("x" * 300 + ".png", r"\(file name too long\)"),
        ("cat", "path 'cat' in"),
        ("text.png", "16 bytes starting 'this is no p', which is no image"),
        ("empty.png", "0 bytes"),
        ("cut.png", "cannot be decoded"),
        (b"", "0 bytes"),
        (b"this is no image", "which is no image"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "which is no image"),
        (RED[: len(RED) // 2], "no image|cannot be decoded"),
        (RED64[:-1], "not whole base64"),
        (RED64[:-10] + "!" * 10, "not whole base64"),
        (f"data:image/png;base64,{RED64[:-1]}", "not whole base64"),
        ("data:image/png;base64", "0 bytes"),
        ("data:image/svg+xml,<svg/>", "not whole base64"),
        ("data:image/png;base64,é", "not whole base64"),
        (base64.b64encode(b"text, and long enough to be base64").decode(), "which is no image"),
        ("[__import__('os')]", "a list that cannot be read"),
        ("[['red.png']]", "a list that cannot be read"),
        (5, r"5 \(int\) where an image should be"),
        ([RED, 1.5], r"1\.5 \(float\) where an image should be"),
        ({"bytes": 5}, r"5 \(int\) where an image should be"),
        ({"path": ["red.png"]}, "path"),
        ("circle.png", "leaves"),
        ("pipe.png", "not a file"),
        (b"%PDF-1.7", "which is no image"),
    ],
)
def test_what_is_no_image_is_named(setting: Setting, value: Any, message: str) -> None:
    (setting.root / "text.png").write_bytes(b"this is no photo")
    (setting.root / "empty.png").write_bytes(b"")
    (setting.root / "cut.png").write_bytes(RED[:-30])
    (setting.root / "circle.png").symlink_to("circle.png")
    os.mkfifo(setting.root / "pipe.png")
    with pytest.raises(ImageError, match=message):
        setting.loader.load(value)


def test_base64_with_line_breaks_and_what_is_none() -> None:
    for data in (b"aGk=", b"aG k=\n", b"\r\naGk=\r\n", b"a\nG\nk\n="):
        assert decode_base64(data) == b"hi"
    for data in (b"a", b"aG", b"aGk", b"aGk=x", b"aGk=aGk=", b"aG-_", b"aGk!", b"\xff\xfe\x00a", b"="):
        with pytest.raises(ImageError, match=f"{len(data)} characters starting .* not whole base64"):
            decode_base64(data)
