import io
import struct
import warnings
import zlib
from pathlib import Path

import pytest
from PIL import Image

from eyetest.benchmarks.images import MAX_BYTES, ImageStore, decode, inspect
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
    store.finish()
    assert (image.format, image.width, image.height) == (kind.lower(), 31, 17)
    assert store.read(image) == saved_again(store, image.filename)
    assert store.open(image).size == (31, 17)


def saved_again(store: ImageStore, name: str) -> bytes:
    return (store.root / name[:2] / name).read_bytes()


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


def test_what_is_no_image_is_refused() -> None:
    for data in (b"", b"just text\n" * 50, b"PK\x03\x04" + b"\0" * 100, b"%PDF-1.7", png()[:20], b"<svg/>"):
        with pytest.raises(ImageError):
            inspect(data, "0" * 64)


def test_a_compressed_bomb_inside_a_image_is_refused() -> None:
    bomb = zlib.compress(b"\0" * (200 * 2**20), 9)
    text = b"Comment\0\0" + bomb
    chunk = struct.pack(">I", len(text)) + b"zTXt" + text + struct.pack(">I", zlib.crc32(b"zTXt" + text))
    with pytest.raises(ImageError):
        decode(png_header(8, 8, chunk))


def test_too_many_bytes_are_refused() -> None:
    with pytest.raises(ImageError, match="at most 64 MB"):
        inspect(png() + b"\0" * MAX_BYTES, "0" * 64)


def test_equal_bytes_are_stored_once(tmp_path: Path) -> None:
    store = ImageStore(tmp_path)
    assert store.put(png("red")) is store.put(png("red"))
    store.put(png("blue"))
    store.finish()
    assert len(store) == len([p for p in tmp_path.rglob("*") if p.is_file()]) == 2
    assert store.size == len(png("red")) + len(png("blue"))


def test_a_failure_to_write_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "images").write_text("not a folder")
    store = ImageStore(tmp_path / "images")
    store.put(png())
    with pytest.raises(NotADirectoryError):
        store.finish()
