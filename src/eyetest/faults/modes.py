"""The modes of the faulty endpoint: what each sends, and what a harness is expected to make of it."""

from importlib.resources import files
from typing import Any, Literal

import msgspec

Expectation = Literal["answered", "truncated", "blocked", "failed", "stopped"]
ANSWER = "B"
_REPLIES = ("content", "finish", "choice", "message", "top")


class Mode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A way to fail, or to look as if."""

    mode: str
    expect: Expectation
    about: str
    status: int = 200
    headers: dict[str, str] = {}
    reply: dict[str, Any] | None = None  # changes of a usual completion: content, finish, choice, message, top
    json: Any = msgspec.UNSET
    text: str | None = None
    wire: str = ""  # the name of a function in wires.py, which sends bytes instead
    good: int = 0  # so many calls are answered first
    faults: int = 0  # so many attempts at a call fail, then it is answered; 0: all of them

    def is_at_fault(self, calls: int, attempts: int) -> bool:
        """Whether it fails now, after so many calls, and so many attempts at this one."""
        if calls < self.good:
            return False
        return not self.faults or attempts < self.faults

    def body(self) -> bytes:
        """The body that is sent, where it is not a matter of bytes on the wire."""
        if self.text is not None:
            return self.text.encode()
        if self.json is not msgspec.UNSET:
            return msgspec.json.encode(self.json)
        return msgspec.json.encode(completion(**(self.reply or {})))


def completion(
    content: Any = ANSWER,
    finish: Any = "stop",
    choice: dict[str, Any] | None = None,
    message: dict[str, Any] | None = None,
    top: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """A usual completion with some fields changed or added: in the choice, in its message, at the top."""
    said = {"role": "assistant", "content": content, **(message or {})}
    only = {"index": 0, "message": said, "logprobs": None, "finish_reason": finish, **(choice or {})}
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_760_000_000, "model": "faulty"}
    return {**about, "choices": [only], "usage": usage, **(top or {})}


class _File(msgspec.Struct, forbid_unknown_fields=True):
    modes: list[Mode]


def _read_modes() -> dict[str, Mode]:
    data = files(__package__).joinpath("modes.yaml").read_bytes()
    return {mode.mode: mode for mode in msgspec.yaml.decode(data, type=_File).modes}


MODES = _read_modes()
