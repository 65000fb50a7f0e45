"""Messages as a chat completions endpoint takes them, and what of the settings shapes them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from eyetest.models.base import grey_url
from eyetest.models.openai.connection import encode
from eyetest.records import GreyPicture, Message, Part, Picture, Prompt, Words

CONTINUE = {"add_generation_prompt": False, "continue_final_message": True}
STAND_IN = "stand-in-7391"
"""Put in an answer's place to learn what a chat template writes before it; no template writes such a word itself."""
_TEMPLATE = ("model", "chat_template", "chat_template_kwargs", "reasoning_effort", "documents", "tools")
_ANSWERING = (
    *("temperature", "top_p", "top_k", "min_p", "seed", "n", "stop", "stream", "detail"),
    *("max_tokens", "max_completion_tokens", "min_tokens", "logprobs", "top_logprobs"),
    *("presence_penalty", "frequency_penalty", "repetition_penalty", "logit_bias"),
)
DataUrl = Callable[[Picture | GreyPicture], bytes]


def chat_messages(messages: Sequence[Message], data_url: DataUrl, detail: str | None = None) -> list[dict[str, Any]]:
    """Messages with their pictures, each as the data URL that is given for it."""
    return [_message(message, data_url, detail) for message in messages]


def encoded(messages: Sequence[object]) -> list[msgspec.Raw]:
    """Messages as they are sent, encoded once for all requests that begin with them."""
    return [msgspec.Raw(encode(message)) for message in messages]


def assistant(text: str) -> dict[str, str]:
    """What the model itself is to have said."""
    return {"role": "assistant", "content": text}


def with_stand_in(prompt: Prompt) -> list[dict[str, Any]]:
    """A conversation in which an answer was given, to be written by a chat template: tiny pictures, a stand-in."""
    messages = chat_messages(prompt.messages, lambda _: grey_url(8, 8))
    return [*messages, assistant(prompt.prefill + STAND_IN), {"role": "user", "content": "?"}]


def pictures_of(prompt: Prompt) -> list[Picture | GreyPicture]:
    """All that is shown, in order."""
    return [part for message in prompt.messages for part in message.parts if not isinstance(part, Words)]


def template_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What of the settings decides how a conversation is written."""
    return {name: settings[name] for name in _TEMPLATE if name in settings}


def reading_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings without those that are about answers."""
    return {name: value for name, value in settings.items() if name not in _ANSWERING}


def _message(message: Message, data_url: DataUrl, detail: str | None) -> dict[str, Any]:
    if all(isinstance(part, Words) for part in message.parts):
        return {"role": message.role, "content": message.text}
    return {"role": message.role, "content": [_part(part, data_url, detail) for part in message.parts]}


def _part(part: Part, data_url: DataUrl, detail: str | None) -> dict[str, Any]:
    if isinstance(part, Words):
        return {"type": "text", "text": part.text}
    url: dict[str, Any] = {"url": msgspec.Raw(b'"%s"' % data_url(part))}
    return {"type": "image_url", "image_url": url | ({"detail": detail} if detail else {})}
