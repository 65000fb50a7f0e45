"""Networks as ONNX: a mind that goes on from what it has read, and eyes. Nothing of PyTorch is needed to run them."""

from collections.abc import Mapping

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from toy_training.graphs import Graph
from toy_training.network import speeds
from toy_training.sizes import GRID, HEAD, Size

_SMALL = 1e-5
Weights = Mapping[str, NDArray[np.float32]]


def export_mind(weights: Weights, size: Size) -> onnx.ModelProto:
    """A mind: tokens and what was seen go in, the likelihoods of the next tokens come out, with what it remembers."""
    g, width, heads = Graph(), size.width, size.width // HEAD
    tokens = g.take("tokens", TensorProto.INT64, ("batch", "new"))
    lines = g.take("lines", TensorProto.INT64, ("batch", "new"))
    prefix = g.take("prefix", TensorProto.FLOAT, ("batch", "seen", width))
    places = g.take("places", TensorProto.INT64, ("batch", "all"))
    mask = g.take("mask", TensorProto.FLOAT, ("rows", 1, "all", "whole"))
    wanted = g.take("wanted", TensorProto.INT64, ("batch", "asked"))
    past_found = g.take("past_found", TensorProto.FLOAT, ("batch", "read", width))
    past_letters = g.take("past_marks", TensorProto.FLOAT, ("batch", "read", width))
    apart = g.take("apart", TensorProto.FLOAT, ("batch", "asked", "text"))
    table = g.weight(weights["mind.words.weight"], axis=0)
    scaled = g.do("Mul", table, g.constant(width**0.5))
    words, letters = g.do("Gather", scaled, tokens), g.do("Gather", scaled, lines)
    last, first = g.do("Gather", letters, g.constant([width - 1]), axis=2), _slice(g, letters, 0, width - 1)
    x = g.do("Concat", prefix, g.do("Add", words, g.do("Concat", last, first, axis=2)), axis=1)
    angles = g.do("Unsqueeze", g.do("Cast", places, to=TensorProto.FLOAT), g.constant([1, 3]))
    angles = g.do("Mul", angles, g.constant(speeds().numpy().astype(np.float32)))
    angles = g.do("Concat", angles, angles, axis=3)
    turns = [g.do("Cos", angles), g.do("Sin", angles)]
    for layer in range(size.layers):
        x = _layer(g, x, weights, f"mind.layers.{layer}.", heads, (turns, mask, str(layer)))
    text = g.do("Slice", x, g.do("Neg", g.do("Shape", tokens, start=1, end=2)), g.constant([2**31]), g.constant([1]))
    x, found, marked = _point(g, text, weights, words, letters, (past_found, past_letters, apart, wanted, width))
    g.give(found, "found", ("batch", "text", width))
    g.give(marked, "marks", ("batch", "text", width))
    normal = _norm(g, x, weights["mind.norm.weight"])
    g.give(g.do("MatMul", normal, g.do("Transpose", table, perm=[1, 0])), "logits", ("batch", "asked", "words"))
    return g.finish("mind")


def export_eyes(weights: Weights, size: Size) -> onnx.ModelProto:
    """Eyes: images as bytes go in, 64 words of the mind's language for each come out."""
    g, heads = Graph(), size.width // HEAD
    side = size.resolution
    pixels = g.do("Cast", g.take("pictures", TensorProto.UINT8, ("batch", 3, side, side)), to=TensorProto.FLOAT)
    x = g.do("Sub", g.do("Mul", pixels, g.constant(1 / 127.5)), g.constant(1.0))
    for index in range(len(size.channels) + 1):
        x = _convolve(g, x, weights, f"eyes.convs.{index}.", f"eyes.norms.{index}.", 2)
        if index:
            further = _convolve(g, x, weights, f"eyes.more.{index}.conv.", f"eyes.more.{index}.norm.", 1)
            x = g.do("Add", x, further)
    x = g.do("Transpose", g.shaped(x, 0, 0, GRID * GRID), perm=[0, 2, 1])
    x = g.do("Add", x, g.constant(weights["eyes.places"]))
    for layer in range(size.looks):
        x = _layer(g, x, weights, f"eyes.layers.{layer}.", heads, None)
    g.give(_norm(g, x, weights["eyes.norm.weight"]), "seen", ("batch", GRID * GRID, size.width))
    return g.finish("eyes")


def _slice(g: Graph, value: str, start: int, end: int) -> str:
    return g.do("Slice", value, g.constant([start]), g.constant([end]), g.constant([2]))


def _norm(g: Graph, x: str, scale: NDArray[np.float32]) -> str:
    return g.do("LayerNormalization", x, g.constant(scale.astype(np.float32)), axis=-1, epsilon=_SMALL)


def _linear(g: Graph, x: str, weight: NDArray[np.float32]) -> str:
    return g.do("MatMul", x, g.weight(np.ascontiguousarray(weight.T)))


def _layer(
    g: Graph, x: str, weights: Weights, name: str, heads: int, memory: tuple[list[str], str, str] | None
) -> str:
    """Attention and the small network after it; with a memory it is causal and goes on from what was read before."""
    normal = _norm(g, x, weights[f"{name}norm1.weight"])
    qkv = g.shaped(_linear(g, normal, weights[f"{name}qkv.weight"]), 0, 0, 3 * heads, HEAD)
    q, k, v = g.split(g.do("Transpose", qkv, perm=[0, 2, 1, 3]), 3, 1)
    if memory is not None:
        turns, mask, layer = memory
        q, k = _rotate(g, q, turns), _rotate(g, k, turns)
        shape = ("batch", heads, "past", HEAD)
        k = g.do("Concat", g.take(f"past_k{layer}", TensorProto.FLOAT, shape), k, axis=2)
        v = g.do("Concat", g.take(f"past_v{layer}", TensorProto.FLOAT, shape), v, axis=2)
        g.give(k, f"k{layer}", ("batch", heads, "whole", HEAD))
        g.give(v, f"v{layer}", ("batch", heads, "whole", HEAD))
    scores = g.do("MatMul", g.do("Mul", q, g.constant(HEAD**-0.5)), g.do("Transpose", k, perm=[0, 1, 3, 2]))
    if memory is not None:
        scores = g.do("Add", scores, mask)
    mixed = g.do("MatMul", g.do("Softmax", scores, axis=-1), v)
    mixed = g.shaped(g.do("Transpose", mixed, perm=[0, 2, 1, 3]), 0, 0, heads * HEAD)
    x = g.do("Add", x, _linear(g, mixed, weights[f"{name}out.weight"]))
    inner = _linear(g, _norm(g, x, weights[f"{name}norm2.weight"]), weights[f"{name}up.weight"])
    return g.do("Add", x, _linear(g, g.do("Gelu", inner, approximate="tanh"), weights[f"{name}down.weight"]))


def _rotate(g: Graph, x: str, turns: list[str]) -> str:
    first, second = g.split(x, 2, 3)
    turned = g.do("Concat", g.do("Neg", second), first, axis=3)
    return g.do("Add", g.do("Mul", x, turns[0]), g.do("Mul", turned, turns[1]))


def _point(
    g: Graph, x: str, weights: Weights, words: str, letters: str, more: tuple[str, str, str, str, int]
) -> tuple[str, str, str]:
    """The last look at the options, at the places that are wanted; also what is to be remembered for it."""
    past_found, past_letters, apart, wanted, width = more
    normal = _norm(g, x, weights["mind.pointer.norm.weight"])
    found = g.do(
        "Add",
        _linear(g, words, weights["mind.pointer.found.weight"]),
        _linear(g, normal, weights["mind.pointer.deep.weight"]),
    )
    found = g.do("Concat", past_found, found, axis=1)
    marked = g.do("Concat", past_letters, letters, axis=1)
    spread = g.do("Expand", g.do("Unsqueeze", wanted, g.constant([2])), g.constant([1, 1, width]))
    here, normal = g.do("GatherElements", x, spread, axis=1), g.do("GatherElements", normal, spread, axis=1)
    sought = _linear(g, normal, weights["mind.pointer.sought.weight"])
    scores = g.do("MatMul", sought, g.do("Transpose", found, perm=[0, 2, 1]))
    scores = g.do("Add", g.do("Mul", scores, g.constant(width**-0.5)), apart)
    nothing = g.do("Mul", g.do("Slice", scores, g.constant([0]), g.constant([1]), g.constant([2])), g.constant(0.0))
    looks = g.do("Softmax", g.do("Concat", nothing, scores, axis=2), axis=-1)
    looks = g.do("Slice", looks, g.constant([1]), g.constant([2**31]), g.constant([2]))
    gate = _linear(g, normal, weights["mind.pointer.gate.weight"])
    gate = g.do("Sigmoid", g.do("Add", gate, g.constant(weights["mind.pointer.gate.bias"])))
    return g.do("Add", here, g.do("Mul", g.do("MatMul", looks, marked), gate)), found, marked


def _convolve(g: Graph, x: str, weights: Weights, conv: str, norm: str, stride: int) -> str:
    """A convolution with its normalisation folded in."""
    scale = weights[f"{norm}weight"] / np.sqrt(weights[f"{norm}running_var"] + _SMALL)
    bias = weights[f"{norm}bias"] - weights[f"{norm}running_mean"] * scale
    folded = (weights[f"{conv}weight"] * scale[:, None, None, None]).astype(np.float32)
    settings = {"strides": [stride, stride], "pads": [1, 1, 1, 1], "kernel_shape": [3, 3]}
    return g.do("Relu", g.do("Conv", x, g.weight(folded, axis=0), g.constant(bias.astype(np.float32)), **settings))
