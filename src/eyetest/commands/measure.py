"""The command ``measure``: estimates with intervals from the scores of runs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from eyetest.commands import gathering
from eyetest.commands.base import path_of
from eyetest.commands.gathering import Scoring, settings
from eyetest.commands.lazy import pl, printed
from eyetest.commands.options import HOW, WHICH, External, Measurable, Models, Pairs, ShortModel, Where, Words
from eyetest.commands.results import Found, Result, listing
from eyetest.errors import InputError, heading, param
from eyetest.grammar import refuse_idle

if TYPE_CHECKING:
    from eyetest.measures import Settings

_EXTERNAL = "external"


def measure(
    name: str | None = None,
    /,
    *runs: Measurable,
    by: Words = (),
    set: Pairs = (),  # noqa: A002 (the name of the option)
    external: External = None,
    list: bool = False,  # noqa: A002
    where: Annotated[Where, WHICH] = (),
    models: Annotated[Models | None, WHICH] = None,
    model: ShortModel = (),
    cluster: Annotated[str, HOW] = "auto",
    level: Annotated[float, HOW] = 0.95,
    seed: Annotated[int, HOW] = 0,
) -> "MeasureResult":
    """Measure the scores of runs: values with intervals, and how many scores they rest on.

    Several runs are measured together, each as it was last scored (eyetest score); a run that was not scored yet is
    scored on the way.

    Args:
        name: A measure; --list shows all of them.
        runs: Run folders, of one benchmark or several.
        by: A row for each value of this tag; repeatable.
        set: Settings of the measure: KEY=VALUE; measure NAME --list shows them.
        external: CSV with a score of each model from elsewhere: model,score.
        list: List the measures, or with NAME the settings of one.
        where: Only scores with these values of a column or tag: modality=image, ask=cot,direct.
        models: models.yaml that says what is known of models: language bases, sizes.
        model: Only these models: A,B, or repeated.
        cluster: What makes items dependent: auto, found, image, group, passage, template, none, or a tag.
        level: Confidence level of intervals and tests.
        seed: Random seed.

    Examples:
        $ eyetest measure gain run --where modality=image,no-image
        $ eyetest measure accuracy run --by category --output csv
        $ eyetest measure --list

        >>> table = et.measure("accuracy", "run", by="core", where={"modality": "image"})
        >>> table.frame.columns[:4]
        ['model', 'core', 'accuracy', 'accuracy_low']
        >>> table.to_markdown().splitlines()[0][:27], table.to_latex().splitlines()[-1][1:]
        ('| model | core | accuracy |', 'end{tabular}')
        >>> et.measure("linked", "run", set={"from": "modality=no-image", "to": "modality=image"}).settings.own["to"]
        'modality=image'

    """
    if list:
        about_scores = {"by": by, "own": set, _EXTERNAL: external, "where": where, "models": models, "model": model}
        refuse_idle(about_scores, f"{param('list', True)} measures nothing")
        if runs:
            raise InputError(f"{param('list', True)} measures nothing; leave the runs out")
        return _listed(name)  # type: ignore[return-value]
    if name is None:
        raise InputError(f"name a measure; {param('list', True)} shows all of them")
    if not runs:
        raise InputError(f"{name}: name a run to measure")
    from eyetest.measures import MEASURES
    from eyetest.measures.results import own_settings, read_external

    chosen, own = MEASURES[name], gathering.pairs(set, "own", "KEY=VALUE, such as over=items")
    if isinstance(own.get(_EXTERNAL), str):
        raise InputError(f"{heading('own')}: scores from elsewhere are given with {param(_EXTERNAL, 'CSV')}")
    if external is not None:
        if _EXTERNAL not in chosen.own:
            raise InputError(f"{heading(_EXTERNAL)}: {chosen.name} takes no score from elsewhere")
        if not isinstance(external, Mapping):
            external = read_external(path_of(external, _EXTERNAL))
        own[_EXTERNAL] = dict(external)
    plain = settings((), level, seed, own=own_settings(chosen, own))
    kept = gathering.gather(runs, Scoring(cluster=cluster, models=models, model=model, where=where))
    how = replace(plain, by=tuple(gathering.tags_named(kept, by)))
    measured = chosen.measure(kept, how)
    return MeasureResult(measured.table, how, name, (*measured.notes, *printed.caveats(kept)))


class MeasureResult(Found):
    """A table of estimates. Beside a value ``x`` are ``x_low`` and ``x_high`` where it has an interval."""

    def __init__(self, table: "pl.DataFrame", settings: "Settings", name: str, notes: Sequence[str] = ()) -> None:
        """``settings``: by what it was measured, at which level, with which seed."""
        super().__init__(name, printed.plain(table), notes)
        self.settings = settings

    def __len__(self) -> int:
        return len(self.frame)

    def as_json(self) -> dict[str, Any]:
        """Every row, and the notes."""
        return {"measure": self.title, **super().as_json()}


def _listed(name: str | None) -> Result:
    """The measures with a summary of each, or the settings of one."""
    from eyetest.measures import MEASURES

    if name is None:
        rows = [(measure, MEASURES[measure].summary) for measure in MEASURES]
        return listing("measures", ("measure", "summary"), rows, data=dict(rows))
    rows = [
        (param(_EXTERNAL, "CSV") if key == _EXTERNAL else f"{key}={default}", about)
        for key, (default, about) in MEASURES[name].own.items()
    ]
    notes = [] if rows else [f"{name} has no settings of its own"]
    return listing("measures", ("setting", "meaning"), rows, data=dict(rows), notes=notes)
