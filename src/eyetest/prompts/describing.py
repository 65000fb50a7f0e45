"""What a describer is asked: the pictures alone, never the question."""

from eyetest.records import Item, Message, Picture, Prompt, Words

_ONE = (
    "Describe this picture for somebody who cannot see it and will be asked about it. Say everything that could "
    "matter: what is shown and where, how many of each, colours, shapes, sizes and relations; copy all text, "
    "numbers, labels and axes exactly. Do not guess at what is not there."
)
_MANY = " There are {n} pictures; describe each one in turn, under its number."


def description_prompt(item: Item) -> Prompt:
    """Ask for a description of all pictures of an item."""
    pictures = tuple(Picture(image) for image in item.images)
    more = _MANY.replace("{n}", str(len(pictures))) if len(pictures) > 1 else ""
    return Prompt((Message("user", (*pictures, Words(_ONE + more))),))
