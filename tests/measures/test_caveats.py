"""What has to be said whatever is measured."""

from eyetest.measures.caveats import caveats
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
