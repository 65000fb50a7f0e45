"""The networks, in PyTorch: a mind that reads and speaks, and eyes that tell it an image in 64 words of its own."""

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from toy_training.sizes import GRID, HEAD, Size

_ROTATION = 10_000.0
_FAR = -1e4


def speeds(device: torch.device | None = None) -> Tensor:
    """How fast each pair of numbers turns from one place to the next."""
    return _ROTATION ** (-torch.arange(0, HEAD, 2, device=device) / HEAD)


def rotations(length: int, device: torch.device | None = None) -> tuple[Tensor, Tensor]:
    """Cosines and sines that tell places apart."""
    angles = torch.arange(length, device=device)[:, None] * speeds(device)
    return torch.cat((angles.cos(),) * 2, -1), torch.cat((angles.sin(),) * 2, -1)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn queries or keys by their places."""
    first, second = x.chunk(2, -1)
    return x * cos + torch.cat((-second, first), -1) * sin


class Norm(nn.Module):
    """Every place brought to the same scale, in whatever precision it comes."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """Scale."""
        with torch.autocast(x.device.type, enabled=False):
            return functional.layer_norm(x, self.weight.shape, self.weight.to(x.dtype))


class Layer(nn.Module):
    """Attention, then a small network at each place."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = Norm(width), Norm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width, bias=False), nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor, turns: tuple[Tensor, Tensor] | None) -> Tensor:
        """Causal where there are turns, to and fro where there are none."""
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, width // HEAD, HEAD).permute(2, 0, 3, 1, 4)
        if turns is not None:
            q, k = rotate(q, *turns), rotate(k, *turns)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=turns is not None)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Pointer(nn.Module):
    """A last look at the options: whoever thinks of what one of them says is reminded of its mark.

    A mark says nothing by itself. To learn from answers alone which one belongs to which words takes small networks
    longer than everything else; here only what to look for has to be learnt.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = Norm(width)
        self.sought, self.found = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.deep = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 1)
        with torch.no_grad():
            nn.init.eye_(self.sought.weight)
            nn.init.eye_(self.found.weight)
            nn.init.normal_(self.deep.weight, std=0.02)

    def forward(self, x: Tensor, words: Tensor, letters: Tensor, apart: Tensor) -> Tensor:
        """``words``, ``letters``: embeddings of tokens and their lines' letters; ``apart``: 0 where one may look."""
        normal = self.norm(x)
        scores = self.sought(normal) @ (self.found(words) + self.deep(normal)).mT * x.shape[-1] ** -0.5 + apart
        nothing = torch.zeros_like(scores[..., :1])
        looks = torch.cat((nothing, scores), -1).softmax(-1)[..., 1:].to(x.dtype)
        return x + (looks @ letters) * torch.sigmoid(self.gate(normal))


class Mind(nn.Module):
    """A language model; what the eyes saw comes before the text."""

    def __init__(self, size: Size, vocabulary: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, size.width, padding_idx=0)
        self.layers = nn.ModuleList(Layer(size.width) for _ in range(size.layers))
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                deep = name.endswith(("out.weight", "down.weight"))
                scale = 1.0 if name == "words.weight" else 0.2 if deep else 0.7
                nn.init.normal_(weight, std=weight.shape[1] ** -0.5 * scale)
        with torch.no_grad():
            self.words.weight[0] = 0
        self.pointer = Pointer(size.width)
        self.norm = Norm(size.width)

    def forward(self, tokens: Tensor, lines: Tensor, prefix: Tensor | None = None) -> Tensor:
        """What is thought at each place of the text; ``lines`` says in which option's line a token stands."""
        words, letters = self.words(tokens), self.words(lines)
        if torch.is_autocast_enabled(words.device.type):
            words, letters = words.to(torch.bfloat16), letters.to(torch.bfloat16)
        scale = words.shape[-1] ** 0.5
        words, letters = words * scale, letters * scale
        x = words + letters.roll(1, -1)
        before = 0
        if prefix is not None:
            before = prefix.shape[1]
            x = torch.cat((prefix.to(x.dtype), x), 1)
        cos, sin = rotations(x.shape[1], x.device)
        turns = cos.to(x.dtype), sin.to(x.dtype)
        for layer in self.layers:
            x = layer(x, turns)
        length = tokens.shape[1]
        later = torch.ones(length, length, device=x.device, dtype=torch.bool).triu(1)
        apart = (later | (lines == 0)[:, None]).to(x.dtype) * _FAR
        return self.norm(self.pointer(x[:, before:], words, letters, apart))

    def speak(self, thought: Tensor) -> Tensor:
        """How likely each token is next, as logits."""
        return functional.linear(thought, self.words.weight)


class Residual(nn.Module):
    """A convolution beside a way around it."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Look a little further."""
        return x + functional.relu(self.norm(self.conv(x)))


class Eyes(nn.Module):
    """A small convolutional network, then layers in which places look at each other."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        steps = (3, *size.channels, size.width)
        self.convs, self.norms, self.more = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for index, (before, after) in enumerate(pairwise(steps)):
            self.convs.append(nn.Conv2d(before, after, 3, stride=2, padding=1, bias=False))
            self.norms.append(nn.BatchNorm2d(after))
            self.more.append(Residual(after) if index else nn.Identity())
        self.places = nn.Parameter(torch.randn(GRID * GRID, size.width) * 0.02)
        self.layers = nn.ModuleList(Layer(size.width) for _ in range(size.looks))
        self.norm = Norm(size.width)

    def forward(self, images: Tensor) -> Tensor:
        """64 words for each image, whose values go from -1 to 1."""
        x = images
        for conv, norm, more in zip(self.convs, self.norms, self.more, strict=True):
            x = more(functional.relu(norm(conv(x))))
        x = x.flatten(2).transpose(1, 2)
        x = x + self.places.to(x.dtype)
        for layer in self.layers:
            x = layer(x, None)
        return self.norm(x)


class Network(nn.Module):
    """A mind, with eyes or without."""

    def __init__(self, size: Size, vocabulary: int) -> None:
        super().__init__()
        self.size = size
        self.mind = Mind(size, vocabulary)
        self.eyes = Eyes(size).to(memory_format=torch.channels_last) if size.channels else None

    def look(self, images: Tensor) -> Tensor:
        """Images of 128 × 128 bytes as the eyes see them."""
        assert self.eyes is not None
        x = images.contiguous(memory_format=torch.channels_last).float().div_(127.5).sub_(1)
        if (factor := images.shape[-1] // self.size.resolution) > 1:
            x = functional.avg_pool2d(x, factor)
        return self.eyes(x)

    def thoughts(self, tokens: Tensor, lines: Tensor, images: Tensor | None = None) -> Tensor:
        """What is thought at each place of the text."""
        return self.mind(tokens, lines, None if images is None else self.look(images))
