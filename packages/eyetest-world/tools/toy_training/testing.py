"""How well a network answers, by the first word of its replies that could be wrong."""

import torch
from eyetest_world.toy_models.network import END, STYLES
from torch import Tensor

from toy_training.batches import Gallery, Library, Rows
from toy_training.network import Network

LETTER, WORDS = STYLES.index("letter"), STYLES.index("words")
_CHUNK = 512


@torch.no_grad()
def hits(network: Network, texts: Rows) -> Tensor:
    """Whether the likeliest first token of each reply is the right one."""
    tokens, lines, starts = texts[:3]
    device = tokens.device.type
    right = []
    network.eval()
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        for first in range(0, len(starts), _CHUNK):
            part = slice(first, first + _CHUNK)
            thoughts = network.thoughts(tokens[part], lines[part], texts[3][part] if len(texts) > 3 else None)
            rows = torch.arange(len(thoughts), device=tokens.device)
            said = network.mind.speak(thoughts[rows, starts[part] - 1]).argmax(-1)
            right.append(said == tokens[part][rows, starts[part]])
    network.train()
    return torch.cat(right)


def letters_only(texts: Rows) -> Tensor:
    """The rows whose reply in the style of letters is a single mark."""
    tokens, _, starts = texts[:3]
    return tokens.gather(1, (starts + 1)[:, None])[:, 0] == END


def read_accuracy(network: Network, library: Library, rows: Tensor | None = None) -> float:
    """The share of texts, or of some of them, that are answered rightly."""
    rows = library.all() if rows is None else rows
    texts = library.take(rows, torch.full_like(rows, LETTER))
    return round(float(hits(network, texts)[letters_only(texts)].float().mean()), 3)


def seen_accuracy(network: Network, gallery: Gallery, style: int = LETTER) -> tuple[float, list[float]]:
    """The share of held-out questions that are answered rightly, in all and by kind."""
    kinds = gallery.kinds
    rows = torch.arange(len(kinds), device=kinds.device)
    first = torch.zeros_like(rows)
    plain = letters_only(gallery.take(rows, first, torch.full_like(rows, LETTER))) & (kinds >= 0)
    right = hits(network, gallery.take(rows, first, torch.full_like(rows, style)))
    by_kind = [right[plain & (kinds == kind)] for kind in range(int(kinds.max()) + 1)]
    means = [round(float(part.float().mean()), 2) if len(part) else 0.0 for part in by_kind]
    return round(float(right[plain].float().mean()), 3), means
