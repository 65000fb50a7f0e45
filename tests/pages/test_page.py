"""Texts from outside on pages of ours: they stay text, in HTML and in Markdown."""

import html
import re

import pytest

from eyetest.pages.page import (
    Verbatim,
    clip,
    escape_markdown,
    estimate,
    fill_markdown,
    fill_page,
    printable,
    with_formulas,
)
from eyetest.version import __version__

PARTS = '{% from "parts.html.j2" import badge %}'


@pytest.fixture
def package(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package with templates of its own, which uses those that all pages share."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "mypages/templates").mkdir(parents=True)
    (folder / "mypages/__init__.py").touch()
    (folder / "mypages/templates/a.html.j2").write_text(PARTS + '{{ badge("bad", words) }} {{ version }}')
    (folder / "mypages/templates/a.md.j2").write_text("{{ words }} {{ ours }} {{ words | fenced }}")
    monkeypatch.syspath_prepend(str(folder))
    return "mypages"


def test_a_page_of_any_package_uses_the_shared_parts(package: str) -> None:
    page = fill_page("a.html.j2", {"words": "<b>bold</b>"}, package)
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert 'href="#mark-bad"' in page
    assert page.endswith(__version__)


def test_markdown_shows_what_a_text_holds(package: str) -> None:
    told = fill_markdown("a.md.j2", {"words": "*a* ``` b", "ours": Verbatim("**c**")}, package)
    assert told == "\\*a\\* \\`\\`\\` b **c** ````\n*a* ``` b\n````"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("1. first", "1\\. first"),
        ("- item", "\\- item"),
        ("a\n# b", "a \\# b"),
        ("<i>|</i>", "&lt;i&gt;\\|&lt;/i&gt;"),
        ("http://x", "http&#58;//x"),
    ],
)
def test_a_line_of_markdown_is_one_line_of_text(text: str, shown: str) -> None:
    assert escape_markdown(text) == shown


def test_a_text_is_cut_and_has_nothing_in_it_that_no_page_may_hold() -> None:
    assert printable("a\x1bb\u202ec\r\nd") == "a\ufffdb\ufffdc\nd"
    assert clip("abcdef", 4) == "abc…"
    assert clip("abcd", 4) == "abcd"


@pytest.mark.parametrize(
    ("text", "drawn", "left"),
    [
        (r"Is $\frac{1}{2}$ half?", 1, "Is  half?"),
        (r"Is \(x^2\) or $\theta $1 or 45^{\circ} right?", 3, "Is  or 1 or  right?"),
        ("It costs $5 and $7, or US$5 or US$ 7.", 0, "It costs $5 and $7, or US$5 or US$ 7."),
        (r"\$5 and \$7", 0, "$5 and $7"),
        (r"C:\temp\new and \unknown{x} and $\unknown{x}$", 0, r"C:\temp\new and \unknown{x} and $\unknown{x}$"),
        (r"$\text{<script>alert(1)</script>}$", 1, ""),
        (r"$<img src=x onerror=alert(1)>_2$", 1, ""),
        (r"$\href{javascript:alert(1)}{x}$", 0, r"$\href{javascript:alert(1)}{x}$"),
        ("${" + "{" * 400 + "$", 0, "${" + "{" * 400 + "$"),
    ],
)
def test_formulas_are_drawn_money_and_mark_up_stay_text(text: str, drawn: int, left: str) -> None:
    page = with_formulas(text)
    assert page.count("<math") == drawn
    assert html.unescape(re.sub("<math.*?</math>", "", page, flags=re.DOTALL)) == left
    assert set(re.findall(r"<(\w+)", page)) <= {"math", "mrow", "mi", "mo", "mn", "mtext", "mfrac", "msup", "msub"}


@pytest.mark.parametrize("most", range(1, 60))
def test_a_text_is_never_cut_inside_a_formula(most: int) -> None:
    page = with_formulas(r"Half is $\frac{1}{2}$, and the root is $\sqrt{2 + x}$ of what?", most=most)
    assert page.count("<math") == page.count("</math>") <= 2
    assert "$" not in page
    assert "frac{" not in page
    assert page.endswith(("…", "?"))


def test_formulas_without_an_end_take_no_time() -> None:
    """How far a delimiter looks for its end is bounded, and so is the text that is looked through."""
    for sign in ("$", r"\(", r"\[", "$$x", r"\frac", "^{", r"\left("):
        text = sign * (10_000 // len(sign))
        assert len(with_formulas(text)) >= len(text) / 2


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        ((0.795, 0.732, 0.846), "79.5 [73.2, 84.6]"),
        ((0.6,), "60.0"),
        ((-0.0001, -0.02, 0.01), "0.0 [−2.0, 1.0]"),
        ((0.5, None, 0.6), "50.0"),
        ((None,), "–"),
    ],
)
def test_shares_have_one_style(numbers: tuple[float | None, ...], words: str) -> None:
    assert estimate(*numbers) == words
