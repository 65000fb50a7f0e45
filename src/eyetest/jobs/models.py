"""Who is in a run: models listed, called otherwise, taken out."""

from collections.abc import Mapping, Sequence

from eyetest.errors import InputError, heading, short
from eyetest.jobs.opening import AnyRun, open_run
from eyetest.runs.models import change_models, models_of


def models(run: AnyRun, rename: Sequence[str] | Mapping[str, str] = (), remove: Sequence[str] = ()) -> dict[str, int]:
    """The models of a run and how many calls were planned for each, after the changes, if any.

    ``rename`` holds old names with new ones, or words OLD=NEW, in which OLD is a model that the run has.
    """
    opened = open_run(run)
    known = models_of(opened)
    renamed = dict(rename) if isinstance(rename, Mapping) else dict(_pair(word, known) for word in rename)
    if renamed or remove:
        change_models(opened.path, renamed, list(remove))
        opened = open_run(opened.path)
    return models_of(opened)


def _pair(word: str, known: dict[str, int]) -> tuple[str, str]:
    cuts = [at for at, character in enumerate(word) if character == "="]
    if not cuts:
        raise InputError(f"{heading('rename')}: found {short(word)}, expected OLD=NEW")
    cut = next((at for at in cuts if word[:at] in known), cuts[0])
    return word[:cut], word[cut + 1 :]
