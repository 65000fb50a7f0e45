"""Writing an ONNX graph by hand, one line a step; weights are stored as bytes with a scale for each output."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

_OPSET = 20
_MOST = 127
Floats = NDArray[np.float32]


class Graph:
    """A graph while it is being written."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []
        self._count = 0

    def take(self, name: str, kind: int, shape: Sequence[int | str]) -> str:
        """An input."""
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def give(self, value: str, name: str, shape: Sequence[int | str]) -> None:
        """An output."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))
        self._outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, shape))

    def constant(self, values: NDArray[np.generic] | Sequence[int] | float) -> str:
        """A constant; whole numbers are 64 bits wide, others 32."""
        array = np.asarray(values)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = self._name("c")
        self._constants.append(numpy_helper.from_array(array, name))
        return name

    def weight(self, values: Floats, axis: int = -1) -> str:
        """A weight in bytes, with one scale for each place along an axis; loading the model makes it wide again."""
        narrow, scale = narrowed(values, axis)
        wide = self.do("Cast", self.constant(narrow), to=TensorProto.FLOAT)
        return self.do("Mul", wide, self.constant(scale))

    def do(self, kind: str, *inputs: str, **settings: Any) -> str:
        """A step with one result."""
        name = self._name(kind.lower())
        self._nodes.append(helper.make_node(kind, list(inputs), [name], **settings))
        return name

    def split(self, value: str, parts: int, axis: int) -> list[str]:
        """A value in equal parts."""
        names = [self._name("part") for _ in range(parts)]
        self._nodes.append(helper.make_node("Split", [value], names, axis=axis, num_outputs=parts))
        return names

    def shaped(self, value: str, *shape: int) -> str:
        """A value in another shape; 0 keeps a dimension."""
        return self.do("Reshape", value, self.constant(list(shape)))

    def finish(self, name: str) -> onnx.ModelProto:
        """The model, checked."""
        graph = helper.make_graph(self._nodes, name, self._inputs, self._outputs, self._constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="eyetest")
        model.ir_version = 10
        onnx.checker.check_model(model)
        return model

    def _name(self, kind: str) -> str:
        self._count += 1
        return f"{kind}{self._count}"


def narrowed(values: Floats, axis: int = -1) -> tuple[NDArray[np.int8], Floats]:
    """Bytes and their scales; a value is off by half a scale at most."""
    others = tuple(dimension for dimension in range(values.ndim) if dimension != axis % values.ndim)
    scale = np.maximum(np.abs(values).max(axis=others, keepdims=True), 1e-12) / _MOST
    return np.clip(np.rint(values / scale), -_MOST, _MOST).astype(np.int8), scale.astype(np.float32)
