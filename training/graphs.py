"""Write the graph of the model, and of its first layers: `python -m training.graphs MODEL`.

Neither file has numbers of its own but small ones: they name the places of the others in the file of the model, beside
which they are written. onnxruntime maps that file into memory, and so loads a graph in two thirds of the time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = ["LAYERS", "write_graphs"]

#: How many layers: after the fourth, sentences of different acts are the easiest to tell apart.
LAYERS = 4
#: Tensors with fewer bytes are copied.
_LEAST_BYTES = 512


def write_graphs(model: Path) -> None:
    """Write the graph of a model, and the one that computes the states of tokens after the first layers."""
    import onnx

    whole = onnx.load(str(model))
    _name_places(whole.graph.initializer, model)
    model.with_name("graph.onnx").write_bytes(whole.SerializeToString())
    result = f"/encoder/layer.{LAYERS - 1}/output/LayerNorm/Add_1_output_0"
    needed, nodes = {result}, list[Any]()
    for node in reversed(whole.graph.node):
        if needed.intersection(node.output):
            nodes.insert(0, node)
            needed.update(node.input)
    states = onnx.helper.make_tensor_value_info(result, onnx.TensorProto.FLOAT, ["batch_size", "sequence_length", 384])
    inputs = [each for each in whole.graph.input if each.name in needed]
    tensors = [each for each in whole.graph.initializer if each.name in needed]
    graph = onnx.helper.make_graph(nodes, "first layers", inputs, [states], tensors)
    first = onnx.helper.make_model(graph, opset_imports=whole.opset_import, ir_version=whole.ir_version)
    model.with_name("first_layers.onnx").write_bytes(first.SerializeToString())


def _name_places(tensors: Iterable[Any], model: Path) -> None:
    """Replace the numbers of tensors by their places in the file of the model."""
    import onnx

    stored = model.read_bytes()
    for tensor in tensors:
        data = bytes(tensor.raw_data)
        if len(data) < _LEAST_BYTES:
            continue
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", model.name), ("offset", stored.index(data)), ("length", len(data))):
            tensor.external_data.add(key=key, value=str(value))


if __name__ == "__main__":
    write_graphs(Path(sys.argv[1]))
