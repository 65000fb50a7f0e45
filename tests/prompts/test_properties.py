"""What must hold for any item under any condition."""

from typing import get_args

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from eyetest.prompts import CannotApply, build
from eyetest.records import Condition, Item, Lineage, Prompt, Request, Words
from eyetest.records.tables import Ask, Letters, Method, Modality, Shots
from tests.prompts.questions import image, seen
from tests.strategies import drafts, full_words

conditions = st.builds(
    Condition,
    modality=st.sampled_from(get_args(Modality)),
    ask=st.sampled_from(get_args(Ask)),
    shots=st.sampled_from(get_args(Shots)),
    template=st.integers(0, 5),
    order=st.integers(-3, 100),
    letters=st.sampled_from(get_args(Letters)),
    method=st.sampled_from(get_args(Method)),
)


@st.composite
def items(draw: st.DrawFn) -> Item:
    mentions = st.lists(
        st.sampled_from(["<image 1>", "<image 2>", "<image 9>", " ", "a", ".", "(", ")", "\n"]), max_size=8
    )
    fields, images = draw(drafts(st.one_of(full_words, mentions.map("".join))))
    fields["question"] += draw(mentions.map("".join))
    fields["tags"]["task"] = draw(st.sampled_from(["caption", "reading"]))
    if draw(st.booleans()):
        fields["lineage"] += (Lineage(step="screenshot"),)
    return Item(id=draw(full_words), images=tuple(map(image, images)), **fields)


def outcome(item: Item, condition: Condition, prefill: bool = False) -> Prompt | str:
    try:
        return build(item, condition, prefill=prefill)
    except CannotApply as refusal:
        return refusal.reason


def other_gold(item: Item) -> Item:
    choices = tuple(msgspec.structs.replace(choice, correct=not choice.correct) for choice in item.choices)
    references = tuple(f"{reference} or else" for reference in item.references)
    return msgspec.structs.replace(item, choices=choices, references=references)


@given(items(), conditions, st.booleans())
def test_any_item_is_asked_with_each_image_once_or_none_or_refused_for_a_reason(
    item: Item, condition: Condition, prefill: bool
) -> None:
    prompt = outcome(item, condition, prefill)
    if isinstance(prompt, str):
        assert 0 < len(prompt) < 40
        return
    roles = [message.role for message in prompt.messages]
    assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
    for message in prompt.messages:
        assert message.parts
        assert all(part.text.strip() for part in message.parts if isinstance(part, Words))
        assert message.role == "user" or all(isinstance(part, Words) for part in message.parts)
    assert len(prompt.candidates) == (0 if condition.method == "generate" else len(item.choices))
    images = seen(prompt)
    if condition.modality in ("image", "no-question", "screenshot"):
        assert sorted(ref.sha256 for ref in images) == sorted(ref.sha256 for ref in item.images)
    else:
        assert len(images) == (len(item.images) if condition.modality == "gray" else 0)
    assert Request(model="m", prompt=msgspec.json.decode(msgspec.json.encode(prompt), type=Prompt), sample=0).id


@given(items(), conditions, st.booleans())
def test_the_gold_takes_no_part(item: Item, condition: Condition, prefill: bool) -> None:
    assert outcome(item, condition, prefill) == outcome(other_gold(item), condition, prefill)


@given(items(), conditions)
def test_likelihood_heeds_neither_letters_nor_order(item: Item, condition: Condition) -> None:
    weighed = msgspec.structs.replace(condition, method="likelihood", modality="image")
    plain = msgspec.structs.replace(weighed, letters="upper", order=0)
    assert outcome(item, weighed) == outcome(item, plain)
