"""``eyetest models``: who is in a run."""

from typing import Annotated

from eyetest.cli.options import RunArgument, Words, option
from eyetest.cli.terminal import out, safe
from eyetest.jobs import models as job


def models(
    run: RunArgument,
    rename: Annotated[Words, option("--rename", "Call a model otherwise; again for another.", "OLD=NEW")] = None,
    remove: Annotated[Words, option("--remove", "Take a model out; again for another.", "NAME")] = None,
) -> None:
    """List the models of a run, rename one, or take one out.

    Scores follow when they are next asked for, and run.json says what was done. Not a word is lost: what was said
    stays in responses/, also of a model that was taken out.
    """
    for name, calls in job.models(run, rename or (), remove or ()).items():
        out.print(safe(f"{calls:>9,}  {name}"), soft_wrap=True)
