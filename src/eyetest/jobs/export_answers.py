"""A run's answers as other tools keep them."""

from pathlib import Path

from eyetest.errors import InputError, heading, nearest
from eyetest.jobs.opening import SILENT, Observer
from eyetest.results.every_eval_ever import EVERY_EVAL_EVER, ExportedAnswers, export_every_eval_ever
from eyetest.runs import Run
from eyetest.wording import counted, listed

__all__ = ["EVERY_EVAL_EVER", "export_answers_as"]


def export_answers_as(
    format_name: str, run: Run, to: Path, *, overwrite: bool = False, observer: Observer = SILENT
) -> ExportedAnswers:
    """Write the answers of a run and what they are worth as another tool keeps them."""
    if format_name != EVERY_EVAL_EVER:
        raise InputError(f'{heading("format")}: no format "{format_name}"; {nearest(format_name, [EVERY_EVAL_EVER])}')
    exported = export_every_eval_ever(run, to, overwrite=overwrite, tell=observer.busy)
    if exported.unscored:
        observer.note(
            f"{counted(exported.unscored, 'answer')} without a score (failed calls, items without a gold) left out"
        )
    if exported.nameless:
        observer.note(
            f"{listed(exported.nameless)}: no developer in the name, which {EVERY_EVAL_EVER} files models by; "
            f"rename them as developer/model"
        )
    return exported
