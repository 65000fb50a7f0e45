"""Weights of the toy models, taken back out of their ONNX files."""

import numpy as np
import onnx
import torch
from eyetest_world.toy_models.cards import weights
from numpy.typing import NDArray
from onnx import numpy_helper
from torch import Tensor
from toy_training.as_onnx import export_eyes, export_mind
from toy_training.network import Network
from toy_training.sizes import Size

_SMALL = 1e-5
_BYTES = 127


def restored(name: str, size: Size, vocabulary: int) -> Network:
    """A toy model as a PyTorch network; normalisations stay folded into the convolutions."""
    network = Network(size, vocabulary)
    state = {key: value.numpy() for key, value in network.state_dict().items() if value.is_floating_point()}
    found: dict[str, NDArray[np.float32]] = {}
    for part, export in (("mind", export_mind), ("eyes", export_eyes)):
        stored = onnx.load_from_string(weights(f"{name}.{part}.onnx").read_bytes())
        keys = [key for key in state if key.startswith(part)]
        numbered = {key: np.full_like(state[key], index + 2.0) for index, key in enumerate(keys)}
        for key in keys:  # so that a folded convolution shows the number of its weight, and its bias that of the bias
            if key.endswith("running_var"):
                numbered[key][:] = 1 - _SMALL
            elif key.endswith("running_mean"):
                numbered[key][:] = 0
            elif (
                part == "eyes"
                and ".norm" in key
                and key.endswith("weight")
                and key.replace(".weight", ".running_var") in state
            ):
                numbered[key][:] = 1
        found |= _values(export(numbered, size), stored, dict(enumerate(keys, 2)))
    with torch.no_grad():
        for key, value in network.state_dict().items():
            if key in found:
                value.copy_(torch.tensor(found[key]).view_as(value))
            elif key.endswith("running_var"):
                value.fill_(1 - _SMALL)
            elif key.endswith(("running_mean", "num_batches_tracked")):
                value.zero_()
            elif ".norm" in key:
                value.fill_(1)
            else:
                raise ValueError(f"{name}: no weight {key}")
    return network.eval()


def _values(
    numbered: onnx.ModelProto, stored: onnx.ModelProto, keys: dict[int, str]
) -> dict[str, NDArray[np.float32]]:
    """Stored weights by name: constants have the same order in both files, and the number of one tells its name."""
    both = zip(numbered.graph.initializer, stored.graph.initializer, strict=True)
    pairs = [(numpy_helper.to_array(a), numpy_helper.to_array(b)) for a, b in both]
    values: dict[str, NDArray[np.float32]] = {}
    for index, (number, value) in enumerate(pairs):
        if number.dtype == np.int8:
            scale, wide = pairs[index + 1]
            key = keys[round(float(scale.flat[0]) * _BYTES)]
            whole = value.astype(np.float32) * wide
            linear = key.endswith("weight") and whole.ndim == 2 and not key.endswith("words.weight")
            values[key] = np.ascontiguousarray(whole.T) if linear else whole
        elif (
            number.dtype == np.float32
            and number.size > 1
            and number.flat[0] >= 2
            and (number == number.flat[0]).all()
        ):
            key = keys.get(round(float(number.flat[0])), "")
            if index and pairs[index - 1][0].dtype == np.int8:
                continue
            values[key] = value
        elif (
            number.dtype == np.float32
            and number.size == 1
            and keys.get(round(float(number.flat[0])), "").endswith("gate.bias")
        ):
            values["mind.pointer.gate.bias"] = value
    return values


def as_stacked(network: Network, count: int, device: torch.device) -> dict[str, Tensor]:
    """The weights of so many equal minds, one after the other along a first axis."""
    state = network.mind.state_dict()
    return {
        key: value.to(device).expand(count, *value.shape).clone().requires_grad_() for key, value in state.items()
    }
