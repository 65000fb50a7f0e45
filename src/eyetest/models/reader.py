"""``reader:owl-m``: a stand-in for models that read screenshots, made of an OCR engine and an embedded model.

The engine reads the page, what it read is taken apart, and question, options and the cut-out picture go to the
embedded model as a plain prompt. It sees what any model would be sent, pixels and the instruction, so that the vision
setting can be gone through from end to end in the drawn world. It does not say how real models read.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from threading import Lock
from typing import Any

import msgspec
from PIL import Image

from eyetest.errors import EyetestError
from eyetest.models.base import Backend, Call, CallError, Model, Pictures, Surroundings, target_of
from eyetest.models.embedded.cards import cards
from eyetest.models.embedded.model import EmbeddedModel
from eyetest.ocr import Engine, choose_engine
from eyetest.ocr.question_page import QuestionPage, understand
from eyetest.records import GreyPicture, ImageRef, Message, ModelEntry, Picture, Prompt, Response, Words

_BATCH = 8
_READERS = 2
_PAGES_KEPT = 4_000
_INSTRUCTION = "Answer with the letter of the correct option, without any explanation."
"""What the embedded model is told where it was asked for a transcript, which is not its work."""


class ReadPage(msgspec.Struct, frozen=True):
    """A page that was read: its words as a question, and the picture cut out of it."""

    read: QuestionPage
    picture: Picture | None


class ReadPages:
    """Pages read once, and the pictures cut out of them beside those of the benchmark."""

    def __init__(self, pictures: Pictures, engine: Engine) -> None:
        self._pictures, self._engine = pictures, engine
        self._pages: OrderedDict[str, ReadPage] = OrderedDict()
        self._cut_out: dict[str, Image.Image] = {}
        self._lock = Lock()

    def open(self, part: Picture | GreyPicture) -> Image.Image:
        """A picture, decoded: one of the benchmark's, or one that was cut out of it."""
        cut_out = None if isinstance(part, GreyPicture) else self._cut_out.get(part.image.sha256)
        return self._pictures.open(part) if cut_out is None else cut_out

    def page(self, part: Picture) -> ReadPage:
        """What stands on a page."""
        key = part.image.sha256
        with self._lock:
            if key in self._pages:
                self._pages.move_to_end(key)
                return self._pages[key]
        picture = self._pictures.open(part)
        read = understand(picture, self._engine.read(picture))
        cut_out = None if read.picture is None else picture.crop(read.picture)
        page = ReadPage(read, None if cut_out is None else _named(cut_out))
        with self._lock:
            self._pages[key] = page
            if page.picture is not None and cut_out is not None:
                self._cut_out[page.picture.image.sha256] = cut_out
            while len(self._pages) > _PAGES_KEPT:
                _, old = self._pages.popitem(last=False)
                if old.picture is not None:
                    self._cut_out.pop(old.picture.image.sha256, None)
        return page


def _named(picture: Image.Image) -> Picture:
    data = picture.tobytes()
    digest = sha256(b"%d %d " % picture.size + data).hexdigest()
    return Picture(ImageRef(digest, "png", *picture.size, len(data)))


class ReaderModel:
    """An embedded model with an OCR engine before its eyes; whatever is no screenshot it answers as it is."""

    likelihoods = False
    knows_items = False
    batch = _BATCH

    def __init__(self, name: str, entry: ModelEntry, surroundings: Surroundings) -> None:
        engine = choose_engine()
        self.name, self.entry = name, entry
        self._pages = ReadPages(surroundings.pictures, engine)
        inside = msgspec.structs.replace(surroundings, pictures=self._pages)
        self._model = EmbeddedModel(name, entry, cards()[target_of(entry.spec)], inside)
        self.settings: dict[str, Any] = {"reader": engine.name, **self._model.settings}
        self._readers = ThreadPoolExecutor(_READERS, "reader")

    async def open(self) -> None:
        """Load the weights."""
        await self._model.open()

    async def close(self) -> None:
        """Let the readers go."""
        self._readers.shutdown(wait=False)
        await self._model.close()

    async def answer(self, call: Call) -> Response:
        """One attempt."""
        (reply,) = await self.answer_many([call])
        if isinstance(reply, CallError):
            raise reply
        return reply

    async def answer_many(self, calls: Sequence[Call]) -> list[Response | CallError]:
        """Read all pages, then answer them together."""
        loop = asyncio.get_running_loop()
        prepared = await asyncio.gather(*(loop.run_in_executor(self._readers, self._plain, call) for call in calls))
        asked = [one for one in prepared if isinstance(one, Call)]
        replies = iter(await self._model.answer_many(asked) if asked else [])
        answers = [next(replies) if isinstance(one, Call) else one for one in prepared]
        return [self._with_transcript(call, answer) for call, answer in zip(calls, answers, strict=True)]

    def _plain(self, call: Call) -> Call | CallError:
        """The call with its page read out, if it shows one."""
        if call.asked.sight != "screenshot":
            return call
        try:
            prompt = self._read_out(call.request.prompt, call.asked.ask == "ocr")
        except EyetestError as error:
            return CallError("bad-request", str(error))
        return msgspec.structs.replace(call, request=msgspec.structs.replace(call.request, prompt=prompt))

    def _read_out(self, prompt: Prompt, transcribe: bool) -> Prompt:
        """The same prompt with question, options and picture in the page's place."""
        *before, last = prompt.messages
        page = self._pages.page(_shown(last))
        told = _INSTRUCTION if transcribe else last.text.partition("\n")[2] or last.text
        pictures = () if page.picture is None else (page.picture,)
        words = Words(f"{page.read.text}\n\n{told}")
        return msgspec.structs.replace(prompt, messages=(*before, Message("user", (*pictures, words))))

    def _with_transcript(self, call: Call, answer: Response | CallError) -> Response | CallError:
        """The page's words before the answer, where they were asked for."""
        if isinstance(answer, CallError) or call.asked.sight != "screenshot" or call.asked.ask != "ocr":
            return answer
        text = self._pages.page(_shown(call.request.prompt.messages[-1])).read.text
        return msgspec.structs.replace(answer, text=f"{text}\nAnswer: {answer.text}")


def _shown(message: Message) -> Picture:
    """The page that a message shows."""
    for part in message.parts:
        if isinstance(part, Picture):
            return part
    raise CallError("bad-request", "a screenshot without a picture")


def make_reader(name: str, entry: ModelEntry, surroundings: Surroundings) -> Model:
    """The reader that asks the embedded model of this name."""
    return ReaderModel(name, entry, surroundings)


BACKEND = Backend(
    "reader",
    "a stand-in that reads screenshots by OCR and asks an embedded model: reader:owl-m",
    make_reader,
)
