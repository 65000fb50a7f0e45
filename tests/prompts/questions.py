"""Items to put to models, and short ways to look at what is sent."""

from typing import Any

import msgspec

from eyetest.prompts import build
from eyetest.records import Choice, Condition, GrayImage, ImagePart, ImageRef, Item, Lineage, Prompt


def image(number: int = 1) -> ImageRef:
    return ImageRef(sha256=f"{number:064x}", format="png", width=100 + number, height=50 + number, size=1000 * number)


def choice_item(*options: str, gold: int = 1, images: int = 1, **fields: Any) -> Item:
    texts = options or ("red", "green", "blue", "white")
    fields.setdefault("question", "Which colour is the car?")
    return Item(
        id="q",
        images=tuple(image(n + 1) for n in range(images)),
        choices=tuple(Choice(text, i == gold) for i, text in enumerate(texts)),
        **fields,
    )


def text_item(question: str = "What does the sign say?", images: int = 1, **fields: Any) -> Item:
    return Item(
        id="t",
        question=question,
        images=tuple(image(n + 1) for n in range(images)),
        references=("HARBOUR LANE",),
        **fields,
    )


def screenshot(item: Item) -> Item:
    lineage = (Lineage(step="import"), Lineage(step="screenshot", seed=1))
    return msgspec.structs.replace(item, images=(image(9),), lineage=lineage)


def asked(item: Item, **axes: Any) -> Prompt:
    return build(item, Condition(**axes))


def said(item: Item, **axes: Any) -> str:
    return "\n".join(message.text for message in asked(item, **axes).messages)


def seen(prompt: Prompt) -> list[Any]:
    return [
        part.image if isinstance(part, ImagePart) else part
        for message in prompt.messages
        for part in message.parts
        if isinstance(part, ImagePart | GrayImage)
    ]


def spelt(prompt: Prompt) -> list[str]:
    """Each message as one line, with ``#`` where an image stands."""
    return [
        "".join("#" if isinstance(part, ImagePart | GrayImage) else part.text for part in message.parts)
        for message in prompt.messages
    ]
