"""Write the graph of the first layers of the model: `python -m training.first_layers MODEL OUT`.

The file has no numbers of its own but small ones: it names the places of the others in the file of the model, which
has to stand beside it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

__all__ = ["LAYERS", "write_first_layers"]

#: How many layers: after the fourth, sentences of different acts are the easiest to tell apart.
LAYERS = 4
#: Tensors with fewer bytes are copied.
_LEAST_BYTES = 512


def write_first_layers(model: Path, out: Path) -> None:
    """Write the graph that computes the states of tokens after the first layers."""
    import onnx

    stored, whole = model.read_bytes(), onnx.load(str(model))
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
    for tensor in graph.initializer:
        data = bytes(tensor.raw_data)
        if len(data) < _LEAST_BYTES:
            continue
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in (("location", model.name), ("offset", stored.index(data)), ("length", len(data))):
            tensor.external_data.add(key=key, value=str(value))
    first = onnx.helper.make_model(graph, opset_imports=whole.opset_import, ir_version=whole.ir_version)
    out.write_bytes(first.SerializeToString())


if __name__ == "__main__":
    write_first_layers(Path(sys.argv[1]), Path(sys.argv[2]))
