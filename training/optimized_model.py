"""Give a model the graph that onnxruntime makes of it at every load; `python -m training` writes models this way.

The vectors are those of the original, bit for bit, and a load takes half of the time. The optimised graph has only
operators that the CPU provider has on every machine: layouts that depend on the processor exist for convolutions
alone, of which there are none.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from memotherm.embed.local import import_onnxruntime

__all__ = ["optimized"]

#: The number of `opset_import` in a ModelProto of ONNX, and the domains whose operators the graph has.
_OPSET_IMPORT = 8
_DOMAINS = (b"com.microsoft",)
_VARINT = 0


def optimized(original: Path) -> bytes:
    """Return the model of a file with an optimised graph."""
    onnxruntime = import_onnxruntime()
    with tempfile.TemporaryDirectory() as folder:
        saved = Path(folder) / "model.onnx"
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3  # errors only
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
        options.optimized_model_filepath = str(saved)
        onnxruntime.InferenceSession(str(original), options, providers=["CPUExecutionProvider"])
        model = saved.read_bytes()
    # onnxruntime names all domains that it knows, of which an older version may not know one.
    return b"".join(data for number, value, data in _fields(model) if number != _OPSET_IMPORT or _is_used(value))


def _is_used(opset: bytes) -> bool:
    """Return whether an `opset_import` is that of an operator of the graph; that of ONNX itself has no domain."""
    domain = next((value for number, value, _ in _fields(opset) if number == 1), b"")
    return not domain or domain in _DOMAINS


def _fields(message: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Yield the number, value and bytes of each field of a protobuf message that is a number or has a length."""
    position = 0
    while position < len(message):
        start = position
        key, position = _varint(message, position)
        size, value = _varint(message, position)
        position = value if key & 7 == _VARINT else value + size
        yield key >> 3, message[value:position], message[start:position]


def _varint(message: bytes, position: int) -> tuple[int, int]:
    """Return the number at a position, and the position after it."""
    number = shift = 0
    while True:
        byte = message[position]
        position += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return number, position
