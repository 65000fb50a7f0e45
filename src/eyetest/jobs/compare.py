"""Who is better, by how much, and whether the benchmark can tell."""

from collections.abc import Sequence
from typing import NamedTuple

from eyetest.errors import InputError, nearest, param, short
from eyetest.jobs.measure import AS_USUAL, Measurable, Scoring, Where, gather, wanted
from eyetest.jobs.opening import SILENT, Observer, several
from eyetest.measures import Results, Settings
from eyetest.measures.compare import Contest, contest
from eyetest.measures.printed import caveats
from eyetest.measures.results import narrowed, under_one_sight, values_of


class Comparison(NamedTuple):
    """Models held against each other, by which scores, and what has to be said beside it."""

    results: Results
    contest: Contest
    settings: Settings
    notes: tuple[str, ...]


def compare(
    runs: Measurable,
    models: str | Sequence[str],
    how: Settings,
    *,
    sight: str | None = None,
    where: Where = (),
    all_pairs: bool = False,
    scoring: Scoring = AS_USUAL,
    observer: Observer = SILENT,
) -> Comparison:
    """Compare the models that were named, all pairs of them; else rank all, and compare neighbours or all pairs."""
    gathered = gather(runs, scoring, observer)
    kept, notes = under_one_sight(narrowed(gathered, wanted(where)), sight)
    names = _names(several(models), values_of(kept, "model"), values_of(gathered, "model"))
    result = contest(kept, names, how, all_pairs)
    return Comparison(kept, result, how, (*notes, *result.notes, *caveats(kept)))


def _names(words: Sequence[str], known: Sequence[str], anywhere: Sequence[str]) -> list[str]:
    """The models that some words name: one each, or several with commas between."""
    names = [
        name
        for word in words
        for name in ([word] if word in anywhere else filter(None, (part.strip() for part in word.split(","))))
    ]
    for name in names:
        if name in anywhere and name not in known:
            mend = f"see {param('sight')} and {param('where')}"
            raise InputError(f"{short(name)} has no answers under what is compared; {mend}")
        if name not in known:
            raise InputError(
                f"{short(name)} is neither a run folder nor a model in these runs; {nearest(name, known)}"
            )
    return names
