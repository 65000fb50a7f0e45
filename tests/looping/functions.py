"""Every public function that reads a reply, a reference or an option, by its name."""

from collections.abc import Iterator

from eyetest import text as texts
from eyetest.benchmarks.options import split_options
from eyetest.scoring import conventions, restating
from eyetest.scoring.metrics import (
    METRICS,
    Context,
    CorpusMetric,
    ItemMetric,
    number,
    open_answer,
    same_text,
    verdicts,
)
from eyetest.scoring.metrics.captions import caption_tokens
from eyetest.scoring.rules import RULE_SETS, Reply, RuleSet, judged
from eyetest.scoring.rules.cleaning import clean, reply_proper
from eyetest.scoring.rules.options import prepare, tokenise
from eyetest.scoring.scorer import answer_part
from eyetest.tabular.table import parse_list
from eyetest.text import expressions, folding, formulas, numbers, tex
from tests.looping.loops import Function

OPTIONS = (
    ("1/2 kg", "3 kg", "5"), ("1", "2", "3", "4"), ("cat", "dog", "bird"), ("a", "b", "c"), ("A, B", "B, C", "C, A"),
    ("x^2+1", "\\frac{1}{2}", "\\sqrt{2}"), ("yes", "no"), ("12:30", "1:15"), ("red", "1 red", "the red one"),
    ("Paris", "Rome", "none of the above"), ("是", "否"), ("A man is riding", "A dog"), ("1,1", "1.1.1", "1-1"),
    ("", "x"), ("word " * 300, "other " * 200), ("1 " * 200, "1 1 2"), ("50%", "0.5", "half"), ("left", "right"),
    ("answer", "option", "the first"), ("-", "+", "°"),
)  # fmt: skip
REFERENCES = (
    "1", "1/2 kg", "[1, 2]", "x^2+1", "yes", "A", "cat", "12:30", "\\frac{1}{2}", "red and blue", "3.14", "(1,2)",
    "1, 2 or 3", "word " * 150, "1," * 300, "50%", "5 m/s", "是",
)  # fmt: skip
NEEDS_JAVA = "meteor"
CONTEXT = Context("what year is it?")


def rules() -> Iterator[tuple[str, Function]]:
    """Each set of rules beside options of each kind, and the ways of naming options."""
    for name, rule_set in RULE_SETS.items():
        for number_, options in enumerate(OPTIONS):
            yield f"rules {name} {number_}", lambda reply, s=rule_set, o=options: s.read(Reply(reply, o))  # type: ignore[misc]
    ours: RuleSet = RULE_SETS["eyetest"]
    for letters in ("lower", "digit", "АБВГ"):
        yield f"rules {letters}", lambda reply, x=letters: ours.read(Reply(reply, ("1", "cat", "x"), x))  # type: ignore[misc]
    yield "rules truncated", lambda reply: ours.read(Reply(reply, ("1", "cat", "x"), "upper", True))
    yield "rules without options", lambda reply: ours.read(Reply(reply, ()))
    yield "judged", lambda words: judged(words, 4)


def metrics() -> Iterator[tuple[str, Function]]:
    """Each metric beside references of each kind; a long reference beside a short answer; both long."""
    for name, metric in METRICS.items():
        if name == NEEDS_JAVA:
            continue
        if isinstance(metric, CorpusMetric):
            yield f"corpus {name}", lambda a, m=metric: m.score_all([a, "a cat"], [["a cat"], ["a dog"]])  # type: ignore[misc]
        if not isinstance(metric, ItemMetric):
            continue
        yield f"metric {name} itself", lambda answer, m=metric: m.score(f"{answer} x", (answer,), CONTEXT)  # type: ignore[misc]
        for number_, reference in enumerate(REFERENCES):
            yield f"metric {name} {number_}", lambda a, m=metric, r=reference: m.score(a, (r,), CONTEXT)  # type: ignore[misc]
            yield f"reference {name} {number_}", lambda r, m=metric, a=reference: m.score(a, (r,), CONTEXT)  # type: ignore[misc]


def short_texts() -> Iterator[tuple[str, Function]]:
    """The functions of eyetest.text, and the parts of which metrics are made."""
    names = (
        "composed folded normalized option_key parse plain_text read_number read_numbers spaced telling_words words"
    )
    for name in (*names.split(), "find_quantities"):
        yield f"text {name}", getattr(texts, name)
    for name in ("undressed", "unworded", "bare_words", "without_accents", "trimmed"):
        yield f"folding {name}", getattr(folding, name)
    for name in ("unit_of", "counted", "unit_name", "digits_for_words", "is_interval"):
        yield f"numbers {name}", getattr(numbers, name)
    for name in ("stated", "first_sentence", "conclusion", "final_answers", "final_number", "decimal_points"):
        yield f"number {name}", getattr(number, name)
    for place, reference in enumerate(REFERENCES):
        yield f"same {place}", lambda text, r=reference: texts.same(text, r, texts.Level.RELAXED)  # type: ignore[misc]
    yield "same itself", lambda text: texts.same(text, f"{text} x")
    yield "expression", _as_expression
    yield "tokens of a formula", formulas.tokenise
    yield "can be unit", expressions.can_be_unit
    yield "base units", lambda unit: numbers.in_base_units(1.0, unit)
    yield "names", lambda text: open_answer.names(text, "a cat")
    yield "names its beginning", lambda text: open_answer.names(text, text[:500])
    yield "one of several", lambda text: open_answer.is_one_of_several(text, "cat")
    yield "yes or no", verdicts.read_verdict
    yield (
        "yes or no by content",
        lambda text: restating.answer_by_content(text, "Is the top line longer than the other?"),
    )
    yield "yes or no to a question", lambda text: restating.answer_by_content("The top line is longer.", text)
    yield "a denial and yes or no", lambda text: restating.answer_by_content(f"It is not {text}", "Is it over 2?")
    yield "decimal commas", conventions.writes_commas
    yield "parsable TeX", tex.parsable_tex
    yield "bullets", number.bulleted_list
    yield "vqa", same_text.vqa_normalise
    yield "asks when", same_text.asks_when
    yield "caption", caption_tokens
    yield "reply proper", reply_proper
    yield "clean", lambda text: clean(text).text()
    yield "answer part", lambda text: answer_part(text, "cot")
    yield "options", lambda text: prepare.__wrapped__((text, f"{text}x", f"y{text}"), "upper")
    yield "tokens", tokenise
    yield "list", lambda text: parse_list(f"[{text}]")
    yield "options in a question", split_options


def _as_expression(text: str) -> object:
    tokens = expressions.read_expression(text)
    if not tokens:
        return None
    return expressions.is_formula(tokens), expressions.same_expression(tokens, tokens), expressions.value_of(tokens)


FUNCTIONS: dict[str, Function] = {**dict(rules()), **dict(metrics()), **dict(short_texts())}
