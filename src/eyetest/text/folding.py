"""Texts made comparable, in linear time: Unicode forms, case, white space, punctuation, articles, typesetting."""

import re
import unicodedata
from functools import lru_cache

LONGEST = 1_000  # a longer text is no short answer: it is compared by its characters alone
GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "ο": "omicron", "ρ": "rho",
    "σ": "sigma", "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma",
    "Δ": "Delta", "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
ARTICLES = frozenset(("a", "an", "the"))
SPELLINGS = {
    "gray": "grey", "colour": "color", "centre": "center", "metre": "meter", "litre": "liter", "yeah": "yes",
    "yep": "yes", "nope": "no", "&": "and", "pi": "π", "mon": "monday", "tue": "tuesday", "tues": "tuesday",
    "wed": "wednesday", "thu": "thursday", "thur": "thursday", "thurs": "thursday", "fri": "friday",
}  # fmt: skip
_ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]
_WORD_FORMS = SPELLINGS | {
    word: f"{n}{('st', 'nd', 'rd')[n - 1] if n < 4 else 'th'}" for n, word in enumerate(_ORDINALS, 1)
}
EDGES = " .,;:!?\"'`“”‘’*"
_NORMALISED_AT_ONCE = 1_024  # Python sorts a run of combining marks in quadratic time; 1 MB would block a run
RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ]+")
_LOWERED = re.compile("[₀-₉]+")
FLAT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺ⁿ₀₁₂₃₄₅₆₇₈₉", "0123456789-+n0123456789")
THIN_COMMA = re.compile(r",\\!\s?(?=\d{3})")  # thousands as ``32,\!349``
VULGAR = re.compile("(?<=[0-9])([¼½¾⅐-⅞])")
WORDED = (
    r"\\(?:text|mathrm|textrm|mathbf|textbf|textit|mathit|rm|bf|mbox|operatorname|mathcal|mathsf|emph|underline)\b\*?"
    r"\s?\{(?P<words>[^{}]*)\}"
)
_WORDED = re.compile(WORDED)
_DRESSING = re.compile(
    r"\\(?:[,;:!>]|quad\b|qquad\b|displaystyle\b|(?:left|right|big|Big|bigg|Bigg)(?![A-Za-z])\.?|limits\b|[()\[\]])"
    r"|[$~`]|\\ |\*\*+|</?(?:b|i|em|strong|span)>"
)
_HTML = re.compile(r"<(su[pb])>([^<>]{1,40})</\1>")
_PLAIN_POWER = re.compile(r"(?<=[0-9A-Za-z)])\*\*(?=[0-9A-Za-z(])")
_TIMES_TEN = re.compile(r"(?<=[0-9a-zA-Zπ}])\s?[xX]\s?(?=10\s?\^)")
_DEGREE = re.compile(r"\^\s?(?:\{\s?\\circ\s?\}|\\circ\b|\{\s?°\s?\}|°)|\{\s?\}\^\s?\\circ\b")
_IS_DRESSED = re.compile(r"[^\x00-\x7f]|[\\$~`<*^{]")
MATH = re.compile(r"\$([^$]{1,200})\$")
_BRACED_POWER = re.compile(r"\^\{ ?([-+]?\w+) ?\}")
_ARTICLE = re.compile(r"(?:the (?=\w)|an? (?=[^\W\d_]{2}))", re.IGNORECASE)
# A blank that separates neither two words nor two numbers.
_IDLE_BLANK = re.compile(r" (?=[^\w]|_)|(?<=[\W_]) |(?<=[^\W\d_]) (?=\d)|(?<=\d) (?=[^\W\d_])")
_SYMBOLIC = re.compile(r"[\d=^+<>]")
_WRITTEN = re.compile(r"\w+")
# Words for *and* and *or* that are no variable of a formula, as ``e``, ``y``, ``i`` and ``o`` are. Chinese, Japanese
# and Korean ones count between formulas alone: 和平 is one word.
_AND_WORDS = "và|et|und|sowie|dan|och|oraz|ve|та|и|і|و"
_OR_WORDS = "hoặc|ou|oder|atau|lub|eller|veya|или|або|чи|أو"
_AND_SIGNS = "以及|および|그리고|和|与|與|及|と|및"
_OR_SIGNS = "または|或者|或|또는|혹은"
_BEFORE_SIGN, _AFTER_SIGN = r"(?<=[0-9A-Za-z)}$°%]) ?", r" ?(?=[0-9A-Za-z(${\\√-])"
_JOINERS = re.compile(
    rf"(?P<and>\s(?:{_AND_WORDS})\s|{_BEFORE_SIGN}(?:{_AND_SIGNS}){_AFTER_SIGN})"
    rf"|\s(?:{_OR_WORDS})\s|{_BEFORE_SIGN}(?:{_OR_SIGNS}){_AFTER_SIGN}",
    re.IGNORECASE,
)
_DIGIT_ZEROS = "٠۰०০੦૦௦౦೦൦๐"  # of Arabic, Persian, Devanagari, Bengali, Gurmukhi, Gujarati, Tamil … and Thai
_WESTERN_DIGITS = {ord(zero) + value: str(value) for zero in _DIGIT_ZEROS for value in range(10)}
_OTHER_DIGIT = re.compile(f"[{''.join(map(chr, _WESTERN_DIGITS))}٫٬٪]")
_WESTERN_DIGITS |= {ord("٫"): ".", ord("٬"): ",", ord("٪"): "%"}
_PRIME = re.compile(r"\b\w['’′]++\W*$")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_WORD = re.compile(r"[0-9]+(?:[.,:/][0-9]+)*(?:st|nd|rd|th)?|[^\W0-9]\w*|[^\w\s.,;:!?\"'`’“”()\[\]{}*…-]|-(?=[0-9])")


def spaced(text: str) -> str:
    """Collapse white space to single blanks, none outside."""
    return " ".join(text.split())


def composed(text: str) -> str:
    """A text in Unicode form NFKC, with white space collapsed."""
    if text.isascii():
        return spaced(text)
    size = _NORMALISED_AT_ONCE
    blocks = ((word[at : at + size] for at in range(0, len(word), size)) for word in text.split())
    return spaced(" ".join("".join(unicodedata.normalize("NFKC", block) for block in word) for word in blocks))


def trimmed(text: str) -> str:
    """A text without outer punctuation; the point of ``.5``, the factorial of ``3!`` and the star of ``A*`` stay."""
    bare = text.strip(EDGES)
    if not bare or len(bare) == len(text):
        return bare
    start = text.index(bare)
    before, after = text[:start], text[start + len(bare) :]
    point = before.endswith(".") and bare[0].isdigit()
    factorial = after.startswith("!") and (bare[-1].isdigit() or bare[-1] == ")")
    lone = before.count("*") + after.count("*") == 1
    first = "." if point else "*" if lone and before.endswith("*") else ""
    return first + bare + ("!" if factorial else "*" if lone and after.startswith("*") else "")


def folded(text: str) -> str:
    """One spelling for texts that differ in case, spaces, outer punctuation or Unicode form; 10² is 10^2."""
    if not text.isascii():
        text = RAISED.sub(lambda match: f"^{match[0].translate(FLAT)}", text)
    return trimmed(composed(text).casefold())


def undressed(text: str) -> str:
    """A text without typesetting: dollar signs, thin spaces, bold; superscripts become powers."""
    text = western_digits(text)
    if not _IS_DRESSED.search(text):
        return _TIMES_TEN.sub(" × ", spaced(text))
    text = _HTML.sub(lambda m: f"{'^' if m[1] == 'sup' else '_'}{{{m[2]}}}", text)
    if text.count("**") == 1:
        text = _PLAIN_POWER.sub("^", text)
    text = VULGAR.sub(r" \1", text)
    text = RAISED.sub(lambda m: f"^{{{m[0].translate(FLAT)}}}", text)
    text = _LOWERED.sub(lambda m: f"_{{{m[0].translate(FLAT)}}}", text)
    text = composed(text).replace("⁄", "/").replace("−", "-").replace("–", "-").replace("{,}", ",")
    text = THIN_COMMA.sub(",", text)
    text = _DEGREE.sub("°", _DRESSING.sub(lambda m: "" if m[0][1:2] in tuple("!rlbB") else " ", text))
    return _TIMES_TEN.sub(" × ", text)


def western_digits(text: str) -> str:
    """A text with the digits of other scripts as 0 to 9."""
    return text.translate(_WESTERN_DIGITS) if _OTHER_DIGIT.search(text) else text


def english_joiners(text: str) -> str:
    """A text with the words for *and* and *or* of other languages as ``and`` and ``or``."""
    return _JOINERS.sub(lambda match: " and " if match["and"] else " or ", text)


def unworded(text: str) -> str:
    r"""Replace ``\text{words}`` by the words."""
    return _WORDED.sub(r"\1", text) if "\\" in text else text


@lru_cache(maxsize=50_000)
def normalized(text: str) -> str:
    """Remove typesetting, outer marks, article, idle blanks, case (not in words of ≤ 3 letters by digits: MW)."""
    if len(text) > LONGEST:
        return folded(text)
    plain = text if text.isascii() else _LOWERED.sub(lambda m: m[0].translate(FLAT), text)
    if plain.count("$") > 1:
        plain = MATH.sub(r" \1 ", plain)
    money = "$" if "$" in plain else ""
    plain = money + trimmed(_BRACED_POWER.sub(r"^\1", spaced(unworded(undressed(plain)))))
    plain = _ARTICLE.sub("", plain, count=1) if _ARTICLE.match(plain) else plain
    plain = _LONG_WORD.sub(lambda m: m[0].casefold(), plain) if _SYMBOLIC.search(plain) else plain.casefold()
    return _IDLE_BLANK.sub("", plain) or spaced(text)


def option_key(text: str) -> str:
    """A key shared by equal options of one item; Aa is not AA there, r′ is not r, and s** (no bold text) is not s."""

    def in_one_case(match: re.Match[str]) -> str:
        word = match[0]  # XaXa and words of up to two letters may be symbols, whose case counts
        is_word = len(word) > 2 and word in (word.lower(), word.upper(), word.capitalize())
        return word.casefold() if is_word else word

    plain = composed(text)
    before, after = len(plain) - len(plain.lstrip("*")), len(plain) - len(plain.rstrip("*"))
    is_symbol = before != after and max(before, after) > 1  # `trimmed` keeps a single star
    stars = ("*" * before, "*" * after) if is_symbol else ("", "")
    key = _WRITTEN.sub(in_one_case, trimmed(plain)) + "′" * bool(_PRIME.search(text))
    return stars[0] + key + stars[1]


def words(text: str) -> list[str]:
    """The words, numbers and signs of a text in lower case, without punctuation."""
    return _WORD.findall(composed(text).casefold())


def without_accents(text: str) -> str:
    """A text without accents on its letters."""
    if text.isascii():
        return text
    bare = "".join(char for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    return unicodedata.normalize("NFC", bare)


def telling_words(text: str) -> tuple[str, ...]:
    """The words of a text in one spelling each: no accents, Greek letters by name, no article at the beginning."""
    plain = trimmed(unworded(undressed(text)))
    found = [GREEK.get(word, word).lower() for word in words(without_accents(plain))]
    found = without_article([_WORD_FORMS.get(word, word) for word in found])
    return (*found, "*") if found and "*" in (plain[0], plain[-1]) else tuple(found)


def without_article(found: list[str]) -> list[str]:
    """Words without an article before the first other word; the a of ``a+b`` is none."""
    return found[1:] if len(found) > 1 and found[0] in ARTICLES and found[1].isalnum() else found


def bare_words(text: str) -> list[str]:
    """Words in lower case with everything removed that is neither letter nor digit: ``A-1`` is ``a1``."""
    bare = (word if word.isalnum() else "".join(filter(str.isalnum, word)) for word in text.lower().split())
    return [word for word in bare if word]


def holds_phrase(text: list[str], phrase: list[str]) -> bool:
    """Whether a text contains a phrase, word for word."""
    return bool(phrase) and f" {' '.join(phrase)} " in f" {' '.join(text)} "
