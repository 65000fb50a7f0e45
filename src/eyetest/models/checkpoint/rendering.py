"""Prompts as a checkpoint's processor writes them: text by its chat template, tokens, image tensors."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from eyetest.models.base import CallError, Images, images_of
from eyetest.models.trie import shared_start
from eyetest.records import ImagePart, Message, Prompt, Words

# What a processor returns about tokens; everything else is about images
_LANGUAGE = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids", "position_ids")
_STAND_IN = "answer"  # takes an answer's place to find what a chat template writes before it


class Continuation(msgspec.Struct, frozen=True):
    """Tokens of which those from ``first`` on are scored."""

    tokens: list[int]
    first: int


class RenderedPrompt(msgspec.Struct, frozen=True):
    """A prompt as tokens and tensors; those of the images are reused by others with the same beginning."""

    tokens: list[int]
    alone: list[int]  # the tokens of the text alone, each image one placeholder
    shown: int  # the number of first tokens that hold all images
    kinds: dict[str, list[int]]  # the processor's other values per token: whether it is part of an image
    vision: dict[str, Any]  # image tensors; the first axis counts images or patches
    mark: int | None  # the token of an image
    continuations: Sequence[Continuation] = ()

    @property
    def shapes(self) -> tuple[Any, ...]:
        """What tensors must share to be concatenated along their first axis."""
        return tuple((name, tuple(tensor.shape[1:])) for name, tensor in sorted(self.vision.items()))

    def behind(self, ids: list[int]) -> list[int] | None:
        """The tokens of another text with the same beginning; None if it differs before an image."""
        alike = shared_start((self.alone, ids))
        if self.vision and (self.mark is None or self.mark in self.alone[alike:] or self.mark in ids[alike:]):
            return None
        kept = len(self.tokens) - (len(self.alone) - alike)
        return self.tokens[:kept] + ids[alike:]


class Renderer:
    """How a checkpoint writes prompts."""

    def __init__(self, processor: Any, images: Images, *, image_token: int | None = None) -> None:
        self._processor, self._images, self._image_token = processor, images, image_token
        self.tokenizer = getattr(processor, "tokenizer", processor)
        self.takes_images = self.tokenizer is not processor
        self._has_template = bool(processor.chat_template)

    def render(self, prompts: Sequence[Prompt]) -> list[RenderedPrompt]:
        """Prompts with the same images as tokens, each with its candidates; what follows the images is read anew."""
        if not self.takes_images and any(map(images_of, prompts)):
            raise CallError("bad-request", "this checkpoint takes text only, and the prompt shows an image")
        first: RenderedPrompt | None = None
        rendered = []
        for prompt in prompts:
            text = self._written(prompt.messages, prompt.prefill)
            alone: list[int] = self.tokenizer(text, add_special_tokens=not self._has_template)["input_ids"]
            tokens = first.behind(alone) if first is not None else None
            if first is None or tokens is None:
                first = self._with_images(prompt, text, alone)
                tokens = first.tokens
            base = msgspec.structs.replace(first, tokens=tokens, alone=alone)
            continuations = self._continuations(prompt, base) if prompt.candidates else []
            rendered.append(msgspec.structs.replace(base, continuations=continuations))
        return rendered

    def _with_images(self, prompt: Prompt, text: str, alone: list[int]) -> RenderedPrompt:
        parts = images_of(prompt)
        settings = {"return_tensors": "pt", "add_special_tokens": not self._has_template}
        if parts:
            images = [self._images.open(part) for part in parts]
            given = dict(self._processor(text=[text], images=[images], **settings))
        else:
            given = dict(self.tokenizer([text], **settings))
        tokens = given["input_ids"][0].tolist()
        kinds = {name: given[name][0].tolist() for name in _LANGUAGE[2:] if name in given}
        vision = {name: tensor for name, tensor in given.items() if name not in _LANGUAGE}
        last = max((at + 1 for at, token in enumerate(tokens) if token == self._image_token), default=0)
        shown = last or (len(tokens) if vision else 0)
        return RenderedPrompt(tokens, alone, shown, kinds, vision, self._image_token)

    def _continuations(self, prompt: Prompt, base: RenderedPrompt) -> list[Continuation]:
        """Each candidate after the prompt; its tokens are those that hold any of its characters."""
        begun = self._written(prompt.messages, prompt.prefill + _STAND_IN).rpartition(_STAND_IN)[0]
        read = self.tokenizer(
            [begun + candidate for candidate in prompt.candidates],
            add_special_tokens=not self._has_template,
            return_offsets_mapping=True,
        )
        continuations = []
        for ids, spans in zip(read["input_ids"], read["offset_mapping"], strict=True):
            tokens = base.behind(ids)
            if tokens is None:
                raise CallError("bad-request", "its tokenizer reads the prompt otherwise once an answer follows")
            first = next((at for at, (_, end) in enumerate(spans) if end > len(begun)), len(ids))
            begin = len(tokens) - (len(ids) - first)
            continuations.append(Continuation(tokens[: begin + 1] if prompt.first_token else tokens, begin))
        return continuations

    def _written(self, messages: Sequence[Message], begun: str) -> str:
        """The text of a conversation up to the model's turn, or within a turn that was begun."""
        if not self._has_template:
            return self._plain(messages, begun)
        conversation = [self._message(message.role, message.parts) for message in messages]
        if not begun:
            return str(self._processor.apply_chat_template(conversation, tokenize=False, add_generation_prompt=True))
        conversation.append(self._message("assistant", (Words(begun),)))
        return str(self._processor.apply_chat_template(conversation, tokenize=False, continue_final_message=True))

    def _message(self, role: str, parts: Sequence[Any]) -> dict[str, Any]:
        if not self.takes_images:
            return {"role": role, "content": "".join(part.text for part in parts)}
        content: list[Mapping[str, str]] = [
            {"type": "text", "text": part.text} if isinstance(part, Words) else {"type": "image"} for part in parts
        ]
        return {"role": role, "content": content}

    def _plain(self, messages: Sequence[Message], begun: str) -> str:
        """For a checkpoint without a chat template: one paragraph below the other."""
        mark = getattr(self._processor, "image_token", "")
        written = [
            "".join(part.text if isinstance(part, Words) else f"{mark}\n" for part in message.parts)
            for message in messages
        ]
        return "\n\n".join((*written, begun))


def names_of_images(prompt: Prompt) -> tuple[str, ...]:
    """The identities of a prompt's images, which are equal for equal images."""
    return tuple(
        part.image.sha256 if isinstance(part, ImagePart) else f"grey {part.width} × {part.height}"
        for part in images_of(prompt)
    )
