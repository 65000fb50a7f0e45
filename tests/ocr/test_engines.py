"""OCR engines on small pages of our own words: what they read, where, and without network."""

import socket

import pytest
from PIL import Image, ImageDraw, ImageFont

from eyetest import ocr
from eyetest.errors import InputError, MissingExtraError
from eyetest.ocr import ENGINES, Engine, ReadLine, choose_engine

WORDS = ("Which bird is blue?", "A. The heron", "B. The 12 owls")


def box_of(line: ReadLine) -> tuple[float, float, float, float]:
    lefts, tops, rights, bottoms = zip(*(word[1:] for word in line.words), strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def page() -> Image.Image:
    """Three lines, a good way apart."""
    image = Image.new("RGB", (420, 170), "white")
    draw = ImageDraw.Draw(image)
    for number, text in enumerate(WORDS):
        draw.text((30, 20 + 48 * number), text, fill="black", font=ImageFont.load_default(24))
    return image


@pytest.fixture(params=["rapidocr", "tesseract"])
def engine(request: pytest.FixtureRequest) -> Engine:
    chosen = ENGINES[request.param]
    if missing := chosen.missing():
        pytest.skip(f"no {request.param} here: {missing}")
    return chosen


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("an engine asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.usefixtures("no_network")
def test_an_engine_reads_lines_where_they_stand(engine: Engine) -> None:
    lines = sorted(engine.read(page()), key=lambda line: box_of(line)[1])
    assert tuple(line.text for line in lines) == WORDS
    for number, line in enumerate(lines):
        left, top, right, bottom = box_of(line)
        assert left == pytest.approx(30, abs=8)
        assert 20 + 48 * number - 8 <= top < bottom <= 20 + 48 * number + 40
        assert right < 300
        assert [word.left for word in line.words] == sorted(word.left for word in line.words)


def test_a_page_without_words_has_no_lines(engine: Engine) -> None:
    assert not engine.read(Image.new("RGB", (120, 90), "white"))


def test_a_wrong_name_gets_the_nearest_right_one() -> None:
    with pytest.raises(InputError, match='did you mean "tesseract"'):
        choose_engine("teseract")


def test_where_there_is_no_engine_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyetest.ocr.importlib.util.find_spec", lambda _: None)
    monkeypatch.setattr("eyetest.ocr.shutil.which", lambda _: None)
    with pytest.raises(MissingExtraError, match=r"apt-get install tesseract-ocr or pip install 'eyetest\[ocr\]'"):
        choose_engine()
    with pytest.raises(MissingExtraError, match="rapidocr is not installed"):
        choose_engine("rapidocr")


def test_a_table_of_words_may_hold_quotes_and_empty_words(monkeypatch: pytest.MonkeyPatch) -> None:
    head = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n"
    rows = (
        '5\t1\t1\t1\t1\t1\t10\t20\t5\t6\t90\t"so',
        "5\t1\t1\t1\t1\t2\t20\t20\t5\t6\t90\t ",
        "4\t1\t1\t1\t2\t0\t0\t0\t9\t9\t-1\t",
    )
    monkeypatch.setattr(ocr, "_run", lambda *_: head + "\n".join(rows) + "\n")
    [line] = ENGINES["tesseract"].read(page())
    assert line.text == '"so'
    assert box_of(line) == pytest.approx((10 / 1.5, 20 / 1.5, 15 / 1.5, 26 / 1.5))
