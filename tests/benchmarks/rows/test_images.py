import base64
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eyetest.benchmarks.images import ImageStore
from eyetest.benchmarks.rows.reading import ImageLoader, decode_base64
from eyetest.errors import ImageError
from tests.benchmarks.test_images import png_header
from tests.conftest import png

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
        self.store.finish()
        return [self.store.read(image) for image in images]


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    setting = Setting(tmp_path)
    yield setting
    setting.store.finish()


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


def test_a_image_is_known_by_its_hash_and_size(setting: Setting) -> None:
    [image] = setting.loader.load(png(size=(5, 3)))
    assert image.sha256 == hashlib.sha256(png(size=(5, 3))).hexdigest()
    assert (image.format, image.width, image.height, image.size) == ("png", 5, 3, len(png(size=(5, 3))))


def test_a_file_is_found_though_its_name_could_be_base64(setting: Setting) -> None:
    name = "A" * 40
    (setting.root / name).write_bytes(BLUE)
    assert setting.load(name) == [BLUE]


def test_files_that_were_read_are_recorded_once_in_order(setting: Setting) -> None:
    setting.load(["sub/blue.png", RED, RED64, "red.png", "./sub/blue.png"])
    assert list(setting.loader.files) == [setting.root / "sub" / "blue.png", setting.root / "red.png"]


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


def test_a_folder_reached_through_a_link_is_still_the_folder(setting: Setting, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(setting.root)
    loader = ImageLoader(setting.store, tmp_path / "alias")
    assert len(loader.load("red.png")) == 1


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
    ],
)
def test_what_is_no_image_is_named(setting: Setting, value: Any, message: str) -> None:
    (setting.root / "text.png").write_bytes(b"this is no photo")
    (setting.root / "empty.png").write_bytes(b"")
    (setting.root / "cut.png").write_bytes(RED[:-30])
    with pytest.raises(ImageError, match=message):
        setting.loader.load(value)


@pytest.mark.parametrize("value", [5, ["red.png"], {"path": "red.png"}, b"red.png"])
def test_a_path_that_is_no_text_is_named(setting: Setting, value: Any) -> None:
    with pytest.raises(ImageError):
        setting.loader.load({"path": value})


def test_links_in_a_circle_are_refused(setting: Setting) -> None:
    (setting.root / "a.png").symlink_to("b.png")
    (setting.root / "b.png").symlink_to("a.png")
    with pytest.raises(ImageError):
        setting.loader.load("a.png")


@pytest.mark.parametrize(("width", "height"), [(30_000, 30_000), (10_001, 10_000)])
def test_a_image_of_too_many_pixels_is_refused(setting: Setting, width: int, height: int) -> None:
    with pytest.raises(ImageError, match=r"100,000,000"):
        setting.loader.load(png_header(width, height))
    assert len(setting.store) == 0


def test_a_message_is_one_short_line(setting: Setting) -> None:
    with pytest.raises(ImageError) as raised:
        setting.loader.load("[" + "\n\x1b" * 2000 + "]")
    assert len(str(raised.value)) < 200
    assert str(raised.value).isprintable()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", b""),
        (b"aGk=", b"hi"),
        (b"aG k=\n", b"hi"),
        (b"\r\naGk=\r\n", b"hi"),
        (b"a\nG\nk\n=", b"hi"),
    ],
)
def test_base64_with_and_without_line_breaks(data: bytes, expected: bytes) -> None:
    assert decode_base64(data) == expected


@pytest.mark.parametrize(
    "data", [b"a", b"aG", b"aGk", b"aGk=x", b"aGk=aGk=", b"aG-_", b"aGk!", b"\xff\xfe\x00a", b"="]
)
def test_junk_and_missing_ends_are_not_base64(data: bytes) -> None:
    with pytest.raises(ImageError, match=f"{len(data)} characters starting .* not whole base64"):
        decode_base64(data)
