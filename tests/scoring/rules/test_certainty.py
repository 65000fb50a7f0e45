"""How probable it is that a reading is right: the groups, the estimate, and whether it holds for other sources.

Written before the thresholds were chosen: probabilities from all other sources are compared with how often the
readings of a source are right. Beside them stand one constant for all readings and a logistic regression over the
same groups.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from eyetest import read_choice
from eyetest.scoring.rules import RULE_SETS, Reading, Reply
from eyetest.scoring.rules.certainty import Certainty, Group, find_other_options, group_of, load_certainty
from tools.reading.certainty import (
    RatedReply,
    bins_of,
    count_groups,
    rate_files,
    rate_replies,
    thresholds_of,
    write_counts,
)

ANIMALS = ("cat", "dog", "cow", "fish")
Estimate = Callable[[Group], float]


def read(text: str) -> Reading:
    return read_choice(text, ANIMALS)


def probability(text: str) -> float:
    found = read(text).probability
    assert found is not None
    return found


def test_a_bare_letter_is_surer_than_words_among_other_options() -> None:
    assert probability("B") > 0.99
    assert probability("B") > probability("I see a cat and something that may be a dog, maybe a cow as well.")
    assert 0 < probability("Hm.") < probability("B") < 1


def test_only_our_own_rules_say_how_sure_they_are() -> None:
    for name in RULE_SETS:
        reading = read_choice("The answer is B.", ANIMALS, name)
        assert (reading.probability is not None) == (name == "eyetest")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("The answer is B.", "none"),
        ("The answer is B", "none"),
        ("A cat is small. The answer is B.", "before"),
        ("The answer is B. The cow is far away.", "behind"),
        ("The answer is B, while (C) is another animal.", "behind"),
        ("I had to think. The answer is B because it barks.", "none"),
        ("I cannot see it.", "none"),
        ("It may be a cat, which I cannot say.", "behind"),
    ],
)
def test_where_a_reply_names_other_options(text: str, place: str) -> None:
    reading = read(text)
    assert find_other_options(Reply(text, ANIMALS), reading) == place


@pytest.mark.parametrize(
    ("letters", "text", "place"),
    [
        ("digit", "Answer: 2, not (3), as the text says.", "behind"),
        ("digit", "Answer: 2, since it weighs 3 kg.", "none"),
        ("lower", "The answer is b) and not c) here.", "behind"),
        ("АБВГ", "Ответ: Б. Вариант В. неверен", "behind"),
    ],
)
def test_marks_of_other_styles(letters: str, text: str, place: str) -> None:
    reading = Reading("chosen", 1, "answer is", (0, 11))
    assert find_other_options(Reply(text, ("w", "x", "y", "z"), letters), reading) == place


def test_an_option_inside_the_chosen_one_is_no_other_option() -> None:
    reply = Reply("The answer is a cat and a dog.", ("cat", "cat and a dog"))
    assert find_other_options(reply, Reading("chosen", 1, "answer is", (14, 29))) == "none"


def test_the_estimate_is_that_of_the_neighbours_where_nothing_was_counted() -> None:
    certainty = Certainty({"announced": {"answer is": {"none": (90.0, 100.0)}}, "refused": {"apology": {}}})
    outer = (0 + 2 * 0.5) / 2
    neighbour = (90 + 10 * outer) / 110
    assert certainty.probability(Group("announced", "answer is", "none")) == pytest.approx(neighbour)
    # Another place and another rule have the estimate of the 100 readings around them
    assert certainty.probability(Group("announced", "answer is", "behind")) == pytest.approx(neighbour)
    assert certainty.probability(Group("announced", "new rule", "none")) == pytest.approx(neighbour)
    assert certainty.probability(Group("unheard of", "new rule", "none")) == pytest.approx(91 / 102)


def test_rare_groups_are_shrunk_to_their_neighbours() -> None:
    counts = {"announced": {"answer is": {"none": (95.0, 100.0), "behind": (0.0, 1.0)}}}
    rare = Certainty(counts).probability(Group("announced", "answer is", "behind"))
    assert 0.75 < rare < 0.9


def test_the_table_is_that_of_the_present_rules(tmp_path: Path) -> None:
    """After a change of the rules: python -m tools.reading --certainty."""
    assert load_certainty().rules == RULE_SETS["eyetest"].version
    write_counts({"refused": {"apology": {"none": (2.5, 3.0)}}}, "eyetest/0", tmp_path / "t.yaml")
    assert "    apology: {none: [2.5, 3]}" in (tmp_path / "t.yaml").read_text()


def test_a_reply_of_a_megabyte_is_rated_by_its_end() -> None:
    text = f"A cat. {'So many words. ' * 70_000}The answer is B."
    reading = Reading("chosen", 1, "answer is", (len(text) - 2, len(text) - 1))
    assert group_of(Reply(text, ANIMALS), reading) == Group("announced", "answer is", "none")


def constant(rated: Sequence[RatedReply]) -> Estimate:
    share = sum(row.weight * row.is_right for row in rated) / sum(row.weight for row in rated)
    return lambda group: share


def groups(rated: Sequence[RatedReply]) -> Estimate:
    return Certainty(count_groups(rated)).probability


def regression(rated: Sequence[RatedReply]) -> Estimate:
    """Logistic regression on evidence, rule, place, and evidence with place."""
    columns: dict[tuple[str, ...], int] = {}
    for row in rated:
        for feature in features(row.group):
            columns.setdefault(feature, len(columns))

    def encode(group: Group) -> list[float]:
        present = set(features(group))
        return [float(feature in present) for feature in columns]

    cells = [encode(row.group) for row in rated]
    weights = [row.weight for row in rated]
    model = LogisticRegression(max_iter=3_000).fit(cells, [row.is_right for row in rated], sample_weight=weights)
    return lambda group: float(model.predict_proba([encode(group)])[0, 1])


def features(group: Group) -> list[tuple[str, ...]]:
    return [(group.evidence,), (group.evidence, group.rule), ("", "", group.place), (*group[:1], "", group.place)]


def log_loss(rated: Sequence[RatedReply], fit: Callable[[Sequence[RatedReply]], Estimate]) -> float:
    """The weighted mean loss where each source is rated by the others."""
    losses = []
    for source in sorted({row.source for row in rated}):
        estimate = fit([row for row in rated if row.source != source])
        rows = [row for row in rated if row.source == source]
        values = {group: min(max(estimate(group), 0.001), 0.999) for group in {row.group for row in rows}}
        shares = [values[row.group] if row.is_right else 1 - values[row.group] for row in rows]
        losses += [-row.weight * np.log(share) for row, share in zip(rows, shares, strict=True)]
    return float(sum(losses) / sum(row.weight for row in rated))


@pytest.mark.science
def test_groups_rate_sources_without_a_part_in_them_better_than_one_constant(shared: Path) -> None:
    """Measured: .171 for groups, .173 for logistic regression over the same groups, .196 for one constant."""
    rated = rate_replies(shared)
    assert len(rated) > 3_500
    losses = {fit.__name__: log_loss(rated, fit) for fit in (groups, regression, constant)}
    assert losses["groups"] <= losses["constant"] - 0.01, losses
    assert losses["groups"] <= losses["regression"] + 0.005, losses


@pytest.mark.science
def test_sources_are_right_about_as_often_as_is_said_of_them(shared: Path) -> None:
    """Expected calibration error over sources that had no part; measured: .019."""
    rated = rate_replies(shared)
    sums: dict[int, float] = {}
    for source in sorted({row.source for row in rated}):
        estimate = groups([row for row in rated if row.source != source])
        for row in rated:
            if row.source == source:
                value = estimate(row.group)
                place = int(np.digitize(value, [0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99]))
                sums[place] = sums.get(place, 0.0) + row.weight * (value - row.is_right)
    error = sum(map(abs, sums.values())) / sum(row.weight for row in rated)
    assert error <= 0.03


@pytest.mark.science
def test_the_table_that_ships_is_what_the_labelled_replies_give(shared: Path, tmp_path: Path) -> None:
    """After a change of the rules: python -m tools.reading --certainty."""
    counts = count_groups(rate_replies(shared))
    shipped = load_certainty()
    fresh = Certainty(counts)
    for evidence, rules in counts.items():
        for rule in rules:
            group = Group(evidence, rule, "none")
            assert shipped.probability(group) == pytest.approx(fresh.probability(group), abs=0.02), group


@pytest.mark.science
def test_even_hard_replies_are_rated_better_than_by_one_constant(shared: Path) -> None:
    """``hard.jsonl`` has no part in the rules or the table, and probabilities are far too high on it."""
    rated = rate_files([Path(__file__).parent.parent / "replies" / "hard.jsonl"])
    share = constant(rate_replies(shared))(rated[0].group)
    losses: dict[str, float] = {}
    for name, estimate in (("groups", load_certainty().probability), ("constant", lambda group: share)):
        shares = [estimate(row.group) if row.is_right else 1 - estimate(row.group) for row in rated]
        losses[name] = float(-np.log(np.clip(shares, 0.001, 0.999)).mean())
    assert losses["groups"] < losses["constant"], losses
    assert bins_of(rated, load_certainty())[-1].right > 0.5
    assert thresholds_of(rated, load_certainty())[0].unread == 0
