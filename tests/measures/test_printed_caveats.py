"""What has to be said whatever is measured."""

from typing import Any

from eyetest.measures.printed import caveats
from tests.measures.tables import grid, results


def test_a_model_without_any_score_is_named() -> None:
    assert caveats(grid({"a": [1, None], "b": [0, 1]})) == ()
    assert caveats(grid({"a": [1, 0], "dead": [None, None]})) == ("1 model without any score: dead",)


def test_captions_do_not_mix_with_other_scores_but_open_answers_do() -> None:
    def of(*metrics: str) -> tuple[str, ...]:
        return caveats(results({"item": str(i), "score": 1.0, "metric": name} for i, name in enumerate(metrics)))

    assert of("accuracy", "open", "vqa") == of("cider") == ()
    assert "accuracy, cider" in of("accuracy", "cider")[0]
    assert "bleu-1, rouge-l" in of("rouge-l", "bleu-1")[0]


def test_scores_of_others_are_counted() -> None:
    theirs = {"metric": "given", "model": "theirs"}
    rows: list[dict[str, Any]] = [
        {"item": "1", "score": 1.0, "reading": "unparsed", **theirs},
        {"item": "2", "score": 0.0, "reading": "refused", **theirs},
        {"item": "3", "score": 1.0, **theirs},
        {"item": "4", "score": None, "reading": None, "outcome": "failed", **theirs},
    ]
    unread = "1 of the 2 refused, ambiguous or unreadable answers that others scored have more than 0"
    rule = "refused, ambiguous, cut off, unparsed: wrong; failed: not scored"
    lost = f"more than 5 % of answers were not read ({rule}): theirs 25 % (1 of 4, mostly failed)"
    assert caveats(results(rows)) == (
        lost,
        "all 3 answers were scored by others, whose scores stand as given; none by our rules",
        unread,
    )
    mixed = caveats(results([*rows, {"item": "1", "score": 0.0, "model": "ours"}]))
    assert mixed == (
        lost,
        "3 of 4 answers were scored by others (theirs), whose scores stand as given; the other 1 by our rules, "
        "which may count differently (--where metric=… keeps to one)",
        unread,
    )
    assert caveats(results([{"item": "1", "score": 0.0}])) == ()
