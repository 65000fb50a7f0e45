"""A request's id is a hash of exactly what is sent."""

import subprocess
import sys
from typing import Any

import msgspec

from eyetest.records import GrayImage, ImagePart, ImageRef, Message, Prompt, Request, Words

IMAGE = ImageRef(sha256="a" * 64, format="png", width=8, height=6, size=70)


def request(**changes: Any) -> Request:
    prompt = Prompt((Message("user", (ImagePart(IMAGE), Words("What is it?"))),))
    plain: dict[str, Any] = {"model": "m", "prompt": prompt, "settings": {"temperature": 0, "model": "x"}}
    return Request(**plain | changes)


def saying(*parts: Words | ImagePart | GrayImage, **more: Any) -> Prompt:
    return Prompt((Message("user", parts),), **more)


CHANGED: dict[str, dict[str, Any]] = {
    "model": {"model": "n"},
    "sample": {"sample": 1},
    "a setting": {"settings": {"temperature": 0.1, "model": "x"}},
    "a setting more": {"settings": {"temperature": 0, "model": "x", "seed": 0}},
    "a setting less": {"settings": {"temperature": 0}},
    "a word": {"prompt": saying(ImagePart(IMAGE), Words("What is this?"))},
    "white space": {"prompt": saying(ImagePart(IMAGE), Words("What is it? "))},
    "order": {"prompt": saying(Words("What is it?"), ImagePart(IMAGE))},
    "no image": {"prompt": saying(Words("What is it?"))},
    "another image": {
        "prompt": saying(ImagePart(msgspec.structs.replace(IMAGE, sha256="b" * 64)), Words("What is it?"))
    },
    "a grey one": {"prompt": saying(GrayImage(8, 6), Words("What is it?"))},
    "a grey one of another size": {"prompt": saying(GrayImage(6, 8), Words("What is it?"))},
    "prefill": {"prompt": saying(ImagePart(IMAGE), Words("What is it?"), prefill="It is")},
    "candidates": {"prompt": saying(ImagePart(IMAGE), Words("What is it?"), candidates=("a", "b"))},
    "candidates turned": {"prompt": saying(ImagePart(IMAGE), Words("What is it?"), candidates=("b", "a"))},
    "role": {"prompt": Prompt((Message("system", (ImagePart(IMAGE), Words("What is it?"))),))},
    "two messages": {
        "prompt": Prompt((Message("user", (ImagePart(IMAGE),)), Message("user", (Words("What is it?"),))))
    },
}


def test_whatever_is_sent_changes_the_id() -> None:
    ids = {"plain": request().id} | {name: request(**change).id for name, change in CHANGED.items()}
    assert len(set(ids.values())) == len(ids), ids


def test_the_order_of_settings_does_not() -> None:
    assert request(settings={"model": "x", "temperature": 0}).id == request().id


def test_an_id_is_the_same_tomorrow_and_in_another_process() -> None:
    """Ids are written down, and hash seeds differ between processes."""
    code = (
        "from tests.records.test_requests import request; "
        "print(request().id, request(settings={k: k for k in 'zyxwv'}).id)"
    )
    ids = [
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("1", "2")
    ]
    assert ids[0] == ids[1] == f"{request().id} {request(settings={k: k for k in 'vwxyz'}).id}\n"
    assert request().id == "d2702639641d8dfe26e7f0a881ca31e7"
