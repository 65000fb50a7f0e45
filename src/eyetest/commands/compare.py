"""The command ``compare``: which model is better, by how much, and whether the benchmark can separate them."""

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any

from rich.console import Group, RenderableType
from rich.text import Text

from eyetest.commands.base import several
from eyetest.commands.gathering import Scoring, gather, refuse_no_condition, settings, wanted
from eyetest.commands.lazy import pl, printed
from eyetest.commands.options import HOW, WHICH, Measurable, ShortModel, Where
from eyetest.commands.results import Found, Lines, estimates
from eyetest.errors import InputError, heading, param, short

if TYPE_CHECKING:
    from eyetest.measures import Results, Settings
    from eyetest.measures.compare import Contest

_REPEATED = ("a_mean", "b_mean", "test", "verdict")
"""Columns that the terminal's table leaves out: a sentence or the ranking has them."""
_FEW = 3  # pairs that are shown with a sentence each; of more, the ranking


def compare(
    *runs: Measurable,
    model: ShortModel = (),
    where: Annotated[Where, WHICH] = (),
    cluster: Annotated[str, HOW] = "auto",
    level: Annotated[float, HOW] = 0.95,
) -> "CompareResult":
    """Compare models on items that both answered: who leads, by how much, beyond chance or not.

    All models are ranked, or those that --model names, and all pairs are compared; of more than three models the
    terminal shows the ranking, and --output json or csv all pairs (json also the items that one of a pair has right).
    A shared rank is 1 + the number of models that are significantly better. Where models were asked under several
    modalities, image is compared, unless --where names another. P-values are adjusted for all pairs that are tested
    together.

    Args:
        runs: Run folders, of one benchmark or several.
        model: Only these models, and all pairs of them: A,B, or repeated.
        where: Only scores with these values of a column or tag: modality=no-image, ask=cot.
        cluster: What makes items dependent: auto, found, image, group, passage, template, none, or a tag.
        level: Confidence level of intervals and tests.

    Examples:
        $ eyetest compare run --model new,old --output json

        >>> compared = et.compare("run", model=["seer", "language"])
        >>> print(compared.sentences[0])
        seer leads language ...
        >>> compared.ranking["model"][0], compared.flips.columns[:2]
        ('seer', ['a', 'b'])

    """
    from eyetest.measures.compare import contest
    from eyetest.measures.results import narrowed, only_models, under_one_modality, values_of

    if not runs:
        raise InputError("name a run to compare models in")
    how = settings((), level, 0)
    refuse_no_condition(where)
    gathered, notes = gather(runs, Scoring(cluster=cluster)), tuple[str, ...]()
    conditions = wanted(gathered, where)
    kept = narrowed(gathered, conditions) if conditions else gathered
    if all(condition.column != "modality" for condition in conditions):
        kept, notes = under_one_modality(kept)
    names = values_of(only_models(kept, several(model)), "model") if model else []
    if len(names) == 1:
        raise InputError(f"{heading('model')}: found only {short(names[0])}, expected at least two names: A,B")
    found = contest(kept, names, how)
    notes = (*notes, *found.notes, *printed.caveats(kept))
    return CompareResult(kept, found, how, notes, names)


class CompareResult(Found):
    """Models compared on the items that both of a pair answered: a row a pair with the difference, its interval, the
    test, and the verdict in one sentence. In ``ranking``, ``tie`` is 1 + the number of significantly better models.
    """

    def __init__(
        self, results: "Results", contest: "Contest", settings: "Settings", notes: Sequence[str], named: Sequence[str]
    ) -> None:
        super().__init__("comparison", printed.plain(contest.pairs), notes)
        self.results, self.contest, self.settings = results, contest, settings
        self.ranking, self.sentences = printed.plain(contest.ranking), self.frame["verdict"].to_list()
        self._is_few = len(contest.pairs) <= _FEW or bool(named)

    @cached_property
    def flips(self) -> "pl.DataFrame":
        """The items that only one model of a pair has right, for every pair."""
        from eyetest.measures.compare import flips_of

        return printed.plain(flips_of(self.results, self.contest))

    def as_json(self) -> dict[str, Any]:
        """The ranking and every pair; of few models, or of named ones, every flip."""
        flips = {"flips": self.flips} if self._is_few else {}
        tables = {"ranking": self.ranking, "pairs": self.frame, **flips}
        rows = {name: table.to_dicts() for name, table in tables.items()}
        return {"settings": {"level": self.settings.level}, **rows, "notes": list(self.notes)}

    def __rich__(self) -> RenderableType:
        found, parts = self.contest, list[RenderableType]()
        if len(found.ranking) > 2:
            first = [*found.families, "shared_rank", "model", "score", "unread"]
            ranking = found.ranking.rename({"tie": "shared_rank"})
            parts += [estimates(ranking.select(*first, pl.exclude(first))), Text()]
        if not self._is_few:
            two, every = param("model", "A,B"), param("output", "json")
            parts.append(Text(f"{len(found.pairs):,} pairs: {two} compares two, {every} holds all", "dim"))
            return Group(*parts)
        of_many = {"detectable_adjusted": "detectable"} if found.together > 1 else {}
        hidden = ("detectable",) if of_many else ("p_adjusted", "detectable_adjusted")
        parts += [estimates(found.pairs.drop(*_REPEATED, *hidden).rename(of_many)), Text()]
        if len(found.pairs) <= _FEW:
            parts.append(Lines(*self.sentences))
        return Group(*parts)
