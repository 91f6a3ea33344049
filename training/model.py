"""The published int8 ONNX file as a PyTorch model, and trained weights written back into its graph.

The file has matrices of 7 bits per output channel, which the CPU multiplies with 8-bit activations. Training sees
the matrices as they are after rounding: otherwise, small changes of the weights vanish in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils import parametrize

__all__ = ["BASE_SHA256", "DEVICE", "Weights", "encoder", "quantize_in_training", "quantized", "read", "state", "write"]

Weights = dict[str, Tensor]

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"

#: onnx/model_quantized.onnx of Snowflake/snowflake-arctic-embed-s.
BASE_SHA256 = "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14"

LAYERS = 12
_EMBEDDINGS = tuple(f"embeddings.{name}_embeddings.weight" for name in ("word", "token_type", "position"))
#: Parameters that the file holds as they are.
_PLAIN = re.compile(r"(bias|LayerNorm\.weight)$")
#: A matrix of the file is an integer between minus this and this, times a factor of its output channel.
_STEPS = 64


def read(path: Path) -> Weights:
    """Return the weights of the published file, as float32."""
    if hashlib.sha256(path.read_bytes()).hexdigest() != BASE_SHA256:
        raise ValueError(f"{path} is not onnx/model_quantized.onnx of Snowflake/snowflake-arctic-embed-s")
    graph = _load(path).graph
    arrays = _arrays(graph)
    weights = {name: torch.tensor(array) for name, array in arrays.items() if _PLAIN.search(name)}
    for name in _EMBEDDINGS:
        zero, factor = float(arrays[f"{name}_zero_point"]), float(arrays[f"{name}_scale"])
        weights[name] = torch.tensor((arrays[f"{name}_quantized"].astype(np.float32) - zero) * factor)
    for stored, name in _matrices(graph).items():
        matrix = arrays[f"{stored}_quantized"].astype(np.float32) * arrays[f"{stored}_scale"].reshape(1, -1)
        weights[name] = torch.tensor(matrix.T.copy())
    return weights


def write(weights: Mapping[str, Tensor], base: Path, target: Path) -> None:
    """Write weights into the graph of the published file: the same operators, names and size."""
    from onnx import numpy_helper, save

    model = _load(base)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}

    def put(name: str, array: NDArray[Any]) -> None:
        old = numpy_helper.to_array(tensors[name])
        new = np.ascontiguousarray(np.resize(array, old.shape).astype(old.dtype))
        tensors[name].CopyFrom(numpy_helper.from_array(new, name))

    # The embeddings are not trained, so the file keeps its own.
    for name in tensors:
        if _PLAIN.search(name):
            put(name, weights[name].numpy())
    for stored, name in _matrices(model.graph).items():
        integers, factors = _rounded(weights[name])
        put(f"{stored}_quantized", integers.T.numpy())
        put(f"{stored}_scale", factors.T.numpy())
        put(f"{stored}_zero_point", np.zeros(integers.shape[0]))
    save(model, str(target))


def encoder(weights: Mapping[str, Tensor], layers: int = LAYERS) -> Any:  # noqa: ANN401  # a BertModel
    """Return a model with these weights on the device, without the layers beyond a number."""
    from transformers import BertConfig, BertModel

    config = BertConfig(
        vocab_size=30522,
        hidden_size=384,
        num_hidden_layers=layers,
        num_attention_heads=12,
        intermediate_size=1536,
        max_position_embeddings=512,
        attn_implementation="sdpa",
    )
    model = BertModel(config, add_pooling_layer=False)
    beyond = tuple(f"encoder.layer.{number}." for number in range(layers, LAYERS))
    found = model.load_state_dict(
        {name: value for name, value in weights.items() if not name.startswith(beyond)}, False
    )
    missing = [name for name in found.missing_keys if "position_ids" not in name]
    if missing or found.unexpected_keys:
        raise ValueError(f"not the weights of this model: missing {missing}, unknown {found.unexpected_keys}")
    return model.to(DEVICE).eval()


def state(model: Any) -> Weights:  # noqa: ANN401
    """Return the weights of a model on the CPU, before rounding."""
    return {
        name.replace("parametrizations.weight.original", "weight"): value.detach().float().cpu().clone()
        for name, value in model.state_dict().items()
    }


def average(runs: Sequence[Weights]) -> Weights:
    """Return the mean weights of runs that began with the same weights."""
    return {name: torch.stack([weights[name] for weights in runs]).mean(0) for name in runs[0]}


def quantized(weights: Mapping[str, Tensor]) -> Weights:
    """Return weights with the matrices as they are after rounding."""
    return {name: _steps(value) if _is_matrix(name) else value for name, value in weights.items()}


def quantize_in_training(model: Any) -> None:  # noqa: ANN401
    """Let a model compute with rounded matrices, and learn as if they were not rounded."""
    for name, layer in model.named_modules():
        if isinstance(layer, nn.Linear) and _is_matrix(f"{name}.weight"):
            parametrize.register_parametrization(layer, "weight", _Rounding())


class _Rounding(nn.Module):
    """Rounds in the forward pass, and passes gradients through."""

    def forward(self, matrix: Tensor) -> Tensor:
        return matrix + (_steps(matrix) - matrix).detach()


def _is_matrix(name: str) -> bool:
    return name.startswith("encoder.") and name.endswith("weight") and "LayerNorm" not in name


def _rounded(matrix: Tensor) -> tuple[Tensor, Tensor]:
    """Return a matrix as integers, and the factor of each output channel."""
    factors = matrix.abs().amax(1, keepdim=True).clamp_min(1e-8) / _STEPS
    return torch.round(matrix / factors).clamp(-_STEPS, _STEPS), factors


def _steps(matrix: Tensor) -> Tensor:
    integers, factors = _rounded(matrix)
    return integers * factors


def _load(path: Path) -> Any:  # noqa: ANN401
    import onnx

    load: Callable[[str], Any] = onnx.load
    return load(str(path))


def _arrays(graph: Any) -> dict[str, NDArray[Any]]:  # noqa: ANN401
    from onnx import numpy_helper

    return {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def _matrices(graph: Any) -> dict[str, str]:  # noqa: ANN401
    """Return the parameter of each quantised matrix, by the name that it has in the file."""
    return {
        node.input[1].removesuffix("_quantized"): node.name.strip("/").replace("/MatMul_quant", "").replace("/", ".")
        + ".weight"
        for node in graph.node
        if node.op_type == "MatMulInteger"
    }
