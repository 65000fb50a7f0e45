"""``replay:RUN#MODEL``: recorded answers by item and condition; a call without a record fails."""

from pathlib import Path
from typing import Any

from eyetest.errors import InputError, nearest
from eyetest.models.base import Backend, Call, CallError, Model, Surroundings, target_of
from eyetest.records import Answer, Asked, ModelEntry, Response
from eyetest.runs import open_answers

_Key = tuple[object, ...]


class ReplayModel:
    """A model's recorded answers."""

    likelihoods = False
    knows_items = True

    def __init__(self, name: str, entry: ModelEntry, answers: dict[_Key, Answer]) -> None:
        self.name, self.entry = name, entry
        self.settings: dict[str, Any] = {"replay": Path(target_of(entry.spec)).name}
        self._answers = answers

    async def open(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""

    async def answer(self, call: Call) -> Response:
        """The recorded answer to this call."""
        answer = self._answers.get(_key(call.asked))
        if answer is None:
            raise CallError("not-recorded", "there is no recorded answer to this item under this condition")
        if answer.outcome == "failed":
            raise CallError("recorded-failure", "the recorded call had failed")
        return Response(
            request=call.id, outcome=answer.outcome, text=answer.text, given=answer.given, finish="recorded"
        )


def _key(asked: Asked) -> _Key:
    return tuple(getattr(asked, name) for name in Asked.__struct_fields__ if name != "model")


def make_replay(name: str, entry: ModelEntry, surroundings: Surroundings) -> Model:
    """The recorded answers of a model."""
    source, _, wanted = target_of(entry.spec).partition("#")
    if "://" in source:
        raise InputError("replay: takes a run folder or a file of answers, not an address")
    by_model: dict[str, dict[_Key, Answer]] = {}
    for answer in open_answers(Path(source)):
        by_model.setdefault(answer.model, {})[_key(answer)] = answer
    if not by_model:
        raise InputError(f"{source} holds no answers")
    wanted = wanted or (name if name in by_model else next(iter(by_model)) if len(by_model) == 1 else "")
    if wanted not in by_model:
        found = f'no model "{wanted}"' if wanted else "several models"
        raise InputError(f"{source}: {found}; write replay:{source}#MODEL; {nearest(wanted, by_model)}")
    return ReplayModel(name, entry, by_model[wanted])


BACKEND = Backend("replay", "recorded answers: replay:RUN or replay:FILE, #MODEL where it holds several", make_replay)
