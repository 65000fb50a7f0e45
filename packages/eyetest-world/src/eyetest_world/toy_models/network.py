"""Toy models at work: text as tokens, weights run by onnxruntime, replies token by token.

Words that are known are tokens and other text is bytes, so that any text can be read. Prompts are read in batches,
equal ones once. Every draw comes from a seed that belongs to the call, so a reply does not depend on the other calls.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_letters, digits
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyetest.records import Message, Prompt, Words
from eyetest_world.toy_models.cards import Card, weights

STYLES = ("letter", "bracket", "full", "sentence", "said", "words", "backwards", "careful")
"""How models reply when they are asked for a mark; a token at the beginning of its turn tells a model its own way."""
PAD, END, USER, ASSISTANT, IMAGE = range(5)
SPECIAL = ("<pad>", "<end>", "<user>", "<assistant>", "<image>", *(f"<{style}>" for style in STYLES))
_BYTES = 256
_PIECE = re.compile(r"([^\S\n]*)(\n|[A-Z](?![^\W_])|[^\W\d_]+|\d|[^\w\s]|_)")


class OptionLine(NamedTuple):
    """A line of options in a prompt: its mark, and the words after it."""

    mark: int
    text: tuple[int, ...]


def pieces(text: str) -> list[str]:
    """A text cut into pieces; those that come after a space, or first, begin with one."""
    parts = []
    fresh = True
    for gap, piece in _PIECE.findall(text):
        plain = piece if len(piece) == 1 and piece.isupper() else piece.lower()
        parts.append(f" {plain}" if (gap or fresh) and plain != "\n" else plain)
        fresh = plain == "\n"
    return parts


class Tokens:
    """A vocabulary, and both ways through it."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        first = len(SPECIAL) + _BYTES
        self._numbers = {word: first + index for index, word in enumerate(words)}
        self.size = first + len(words)
        self._newline, self._stop = self._numbers.get("\n", -1), self._numbers.get(".", -1)
        self._letters = {self._numbers.get(f" {one}", -1) for one in (*ascii_letters, *digits)} - {-1}

    def encode(self, text: str) -> list[int]:
        """The numbers of a text."""
        numbers: list[int] = []
        for piece in pieces(text):
            number = self._numbers.get(piece)
            if number is None:
                numbers += [len(SPECIAL) + byte for byte in piece.encode("utf-8", "replace")]
            else:
                numbers.append(number)
        return numbers

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of some numbers, with a capital at its beginning."""
        data = b"".join(map(self._bytes, numbers))
        text = data.decode("utf-8", "replace").replace("\n ", "\n").strip()
        return "\n".join(line[:1].upper() + line[1:] for line in text.split("\n"))

    def word(self, number: int) -> str:
        """One token as text."""
        return SPECIAL[number] if number < len(SPECIAL) else self._bytes(number).decode("utf-8", "replace")

    def encode_prompt(self, prompt: Prompt, style: str = STYLES[0]) -> list[int]:
        """A whole prompt, up to where the model's own turn begins."""
        numbers = [number for message in prompt.messages for number in self._turn(message)]
        return [*numbers, ASSISTANT, SPECIAL.index(f"<{style}>"), *self.encode(prompt.prefill)]

    def lines(self, numbers: Sequence[int]) -> list[int]:
        """The letter of the option in whose line each token is, or PAD."""
        letters: list[int] = []
        mark, fresh = PAD, False
        for index, number in enumerate(numbers):
            if fresh:
                marked = index + 1 < len(numbers) and numbers[index + 1] == self._stop and number in self._letters
                mark = number if marked else PAD
            elif number == self._newline or number < len(SPECIAL):
                mark = PAD
            fresh = number == self._newline
            letters.append(mark)
        return letters

    def question(self, numbers: Sequence[int]) -> tuple[tuple[int, ...], list[OptionLine]]:
        """The last question that is asked with options: the line before them, and the options."""
        rows: list[list[int]] = [[]]
        for number in numbers:
            if number in (self._newline, *range(len(SPECIAL))):
                rows.append([])
            else:
                rows[-1].append(number)
        marked = [len(row) > 1 and row[0] in self._letters and row[1] == self._stop for row in rows]
        if True not in marked:
            return (), []
        last = len(marked) - 1 - marked[::-1].index(True)
        first = last
        while first and marked[first - 1]:
            first -= 1
        before = tuple(rows[first - 1]) if first else ()
        return before, [OptionLine(row[0], tuple(row[2:])) for row in rows[first : last + 1]]

    def letters(self, option: OptionLine) -> tuple[int, ...]:
        """The mark of an option as a word of its own, and as one that follows a bracket."""
        inside = self._numbers.get(self.word(option.mark).strip())
        return (option.mark,) if inside is None else (option.mark, inside)

    def _turn(self, message: Message) -> list[int]:
        numbers = [ASSISTANT if message.role == "assistant" else USER]
        for part in message.parts:
            numbers += self.encode(part.text) if isinstance(part, Words) else [IMAGE]
        return [*numbers, END] if message.role == "assistant" else numbers

    def _bytes(self, number: int) -> bytes:
        if number < len(SPECIAL):
            return b""
        if number < len(SPECIAL) + _BYTES:
            return bytes([number - len(SPECIAL)])
        return self.words[number - len(SPECIAL) - _BYTES].encode("utf-8")


Floats = NDArray[np.float32]
Numbers = NDArray[np.int64]
_HEAD = 32
_FAR = np.float32(-1e4)


class PromptState(NamedTuple):
    """What a mind remembers of some prompts, one a row, and what it would say next."""

    memory: dict[str, Floats]
    lengths: Numbers  # how many places of each row are taken; those after them are empty, up to the longest row
    marked: NDArray[np.bool_]  # which places of the text stand in the line of an option
    logits: Floats

    def rows(self, chosen: Sequence[int] | Numbers) -> "PromptState":
        """Some rows, one perhaps several times."""
        kept = {name: values[chosen] for name, values in self.memory.items()}
        return PromptState(kept, self.lengths[chosen], self.marked[chosen], self.logits[chosen])


class Network:
    """Eyes and mind of one model."""

    def __init__(self, card: Card) -> None:
        self._card, self.width = card, card.width
        self._mind = _session(f"{card.name}.mind.onnx")
        self._eyes = _session(f"{card.name}.eyes.onnx") if card.sees else None
        self._outputs = [one.name for one in self._mind.get_outputs()]

    def look(self, images: NDArray[np.uint8]) -> Floats:
        """Images (row, channel, y, x) as words of the mind's language."""
        assert self._eyes is not None
        seen: Floats = self._eyes.run(None, {"pictures": images})[0]
        return seen

    def read(
        self, prompts: Sequence[Sequence[int]], lines: Sequence[Sequence[int]], seen: Floats | None
    ) -> PromptState:
        """Read prompts of any lengths together; ``seen`` has what the eyes saw of each."""
        count, longest, width = len(prompts), max(map(len, prompts)), self._card.width
        prefix = np.zeros((count, 0, width), np.float32) if seen is None else seen
        before = prefix.shape[1]
        tokens, letters = np.zeros((count, longest), np.int64), np.zeros((count, longest), np.int64)
        for row, (prompt, line) in enumerate(zip(prompts, lines, strict=True)):
            tokens[row, : len(prompt)], letters[row, : len(line)] = prompt, line
        lengths = np.array([len(prompt) for prompt in prompts])
        whole = before + longest
        past = [f"past_{which}{layer}" for layer in range(self._card.layers) for which in "kv"]
        memory = {name: np.zeros((count, width // _HEAD, 0, _HEAD), np.float32) for name in past}
        memory |= {name: np.zeros((count, 0, width), np.float32) for name in ("past_found", "past_marks")}
        logits, memory = self._run(
            {
                "tokens": tokens,
                "lines": letters,
                "prefix": prefix,
                "places": np.broadcast_to(np.arange(whole), (count, whole)),
                "mask": np.triu(np.full((whole, whole), _FAR), 1)[None, None],
                "wanted": lengths[:, None] - 1,
                "apart": np.where(letters == 0, _FAR, np.float32(0))[:, None],
                **memory,
            }
        )
        return PromptState(memory, lengths + before, letters != 0, logits)

    def go_on(self, reading: PromptState, tokens: Numbers) -> PromptState:
        """Read on: (row, new token). Logits are of all new places."""
        rows, new = tokens.shape
        past, text = reading.memory["past_k0"].shape[2], reading.marked.shape[1]
        empty = np.arange(past) >= reading.lengths[:, None]
        mask = np.zeros((rows, 1, new, past + new), np.float32)
        mask[:, 0, :, :past] = np.where(empty, _FAR, np.float32(0))[:, None]
        mask[:, 0, :, past:] = np.triu(np.full((new, new), _FAR), 1)
        apart = np.full((rows, new, text + new), _FAR)
        apart[:, :, :text] = np.where(reading.marked, np.float32(0), _FAR)[:, None]
        logits, memory = self._run(
            {
                "tokens": tokens,
                "lines": np.zeros_like(tokens),
                "prefix": np.zeros((rows, 0, self._card.width), np.float32),
                "places": reading.lengths[:, None] + np.arange(new),
                "mask": mask,
                "wanted": np.broadcast_to(np.arange(new), (rows, new)),
                "apart": apart,
                **reading.memory,
            }
        )
        marked = np.concatenate((reading.marked, np.zeros((rows, new), bool)), axis=1)
        return PromptState(_closed(memory, reading.lengths, past, new), reading.lengths + new, marked, logits)

    def _run(self, inputs: dict[str, NDArray[np.generic]]) -> tuple[Floats, dict[str, Floats]]:
        outputs = dict(zip(self._outputs, self._mind.run(self._outputs, inputs), strict=True))
        logits = outputs.pop("logits")
        return logits, {f"past_{name}": values for name, values in outputs.items()}


def _closed(memory: dict[str, Floats], lengths: Numbers, past: int, new: int) -> dict[str, Floats]:
    """New places moved up behind the old ones of their row, so that the empty ones are last again."""
    if (lengths == past).all():
        return memory
    rows = np.arange(len(lengths))[:, None]
    target = lengths[:, None] + np.arange(new)
    for name, values in memory.items():
        if name.startswith(("past_k", "past_v")):
            fresh = values[:, :, past:].copy()
            values[rows, :, target] = fresh.transpose(0, 2, 1, 3)
    return memory


def _session(name: str) -> Any:
    import onnxruntime  # noqa: PLC0415 (slow to load, and every run of another model would)

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_cpu_mem_arena = False  # arenas of ten models hold gigabytes
    return onnxruntime.InferenceSession(weights(name).read_bytes(), options, providers=["CPUExecutionProvider"])


_LEAST_WARM = 1e-3
_NEVER = np.float32(-1e9)
_WIDE = 2**64 - 1


@dataclass
class Generation:
    """A call, and its output so far."""

    prompt: tuple[int, ...]
    lines: tuple[int, ...]
    images: tuple[object, ...] = ()  # what tells its images from others, for prompts that are equal
    pixels: NDArray[np.uint8] | None = None
    temperature: float = 0.0
    seed: int = 0
    most: int = 64
    top: int | None = None  # how many likeliest others to report for each token
    candidates: Sequence[Sequence[int]] = ()
    """Tokens that are weighed as a reply or, where no END is among them, as its beginning."""
    habits: Mapping[int, float] = field(default_factory=dict)
    """By token, how much less likely it gets than the network makes it."""
    output: list[int] = field(default_factory=list)
    likelihoods: list[NDArray[np.float64]] = field(default_factory=list)
    """Of every token at each position, where others are to be reported."""
    weights: list[float] = field(default_factory=list)
    stopped: bool = False


def answer(network: Network, turns: Sequence[Generation]) -> None:
    """Say something in every turn, or weigh its candidates."""
    row_of: dict[object, int] = {}
    rows = [row_of.setdefault((turn.prompt, turn.images), len(row_of)) for turn in turns]
    first = [turns[rows.index(row)] for row in range(len(row_of))]
    reading = network.read([turn.prompt for turn in first], [turn.lines for turn in first], _seen(network, first))
    for turn, row in zip(turns, rows, strict=True):
        if turn.candidates:
            weights = zip(turn.candidates, _weigh(network, reading.rows([row]), turn.candidates), strict=True)
            turn.weights = [weight + sum(turn.habits.get(token, 0.0) for token in one) for one, weight in weights]
    speakers = [(turn, row) for turn, row in zip(turns, rows, strict=True) if not turn.candidates]
    if speakers:
        _speak(network, reading, [turn for turn, _ in speakers], np.array([row for _, row in speakers]))


def _seen(network: Network, turns: Sequence[Generation]) -> NDArray[np.float32] | None:
    """What the eyes see of every prompt; all prompts of a batch show equally many images."""
    if turns[0].pixels is None:
        return None
    shown = np.stack([turn.pixels for turn in turns if turn.pixels is not None])
    count, images = shown.shape[:2]
    return network.look(shown.reshape(count * images, *shown.shape[2:])).reshape(count, -1, network.width)


def _speak(network: Network, reading: PromptState, turns: Sequence[Generation], rows: Numbers) -> None:
    active = list(turns)
    current = reading if rows.tolist() == list(range(len(reading.lengths))) else reading.rows(rows)
    while True:
        chosen = _next_tokens(active, current.logits[:, -1])
        for turn, token in zip(active, chosen.tolist(), strict=True):
            turn.stopped = token == END
            turn.output += [] if turn.stopped else [token]
        going = [index for index, turn in enumerate(active) if not turn.stopped and len(turn.output) < turn.most]
        if not going:
            return
        if len(going) < len(active):
            current = current.rows(going)
            active = [active[index] for index in going]
        current = network.go_on(current, chosen[going][:, None])


def _next_tokens(turns: Sequence[Generation], logits: NDArray[np.float32]) -> Numbers:
    """The next token of each turn: the likeliest, or one at random."""
    logits[:, PAD] = _NEVER
    shifted = logits - logits.max(axis=1, keepdims=True)
    for index, turn in enumerate(turns):
        for token, liking in turn.habits.items():
            shifted[index, token] += liking
    chosen: Numbers = shifted.argmax(axis=1)
    for index, turn in enumerate(turns):
        if turn.top is not None:
            wide = shifted[index].astype(np.float64)
            turn.likelihoods.append(wide - np.log(np.exp(wide).sum()))
    warm = [index for index, turn in enumerate(turns) if turn.temperature >= _LEAST_WARM]
    if warm:
        heat = np.array([[turns[index].temperature] for index in warm])
        sums = np.exp(shifted[warm] / heat).cumsum(axis=1)
        lots = np.array([draw(turns[index].seed, len(turns[index].output)) for index in warm])[:, None] * sums[:, -1:]
        chosen[warm] = (sums <= lots).sum(axis=1)
    return chosen


def draw(seed: int, position: int) -> float:
    """A number from 0 to 1 that belongs to a call and a position in its reply (SplitMix64)."""
    mixed = (seed + (position + 1) * 0x9E3779B97F4A7C15) & _WIDE
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & _WIDE
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WIDE
    return (mixed ^ (mixed >> 31)) / 2**64


def _weigh(network: Network, reading: PromptState, candidates: Sequence[Sequence[int]]) -> list[float]:
    """The log-likelihood of each candidate, token by token."""
    longest = max(map(len, candidates)) - 1
    tokens = np.full((len(candidates), longest), PAD, np.int64)
    for row, one in enumerate(candidates):
        tokens[row, : len(one) - 1] = one[:-1]
    logits = np.repeat(reading.logits[:, -1:], len(candidates), 0)
    if longest:
        after = network.go_on(reading.rows([0] * len(candidates)), tokens)
        logits = np.concatenate((logits, after.logits), axis=1)
    logits = logits.astype(np.float64)
    logs = logits - np.logaddexp.reduce(logits, axis=2, keepdims=True)
    return [
        sum(float(logs[row, position, token]) for position, token in enumerate(one))
        for row, one in enumerate(candidates)
    ]
