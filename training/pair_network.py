"""The network of `memotherm.statements.pairs`, as it is trained, and the graph that the product reads.

The first part compares the word pieces of both texts: each piece with what is most like it on the other side. The
second part lets four layers of the bundled model read the states of the tokens of both texts together; it begins with
the weights of the layers after those that made the states.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from memotherm.embed.local import BUNDLED
from memotherm.statements.pairs import Effect
from training.graphs import LAYERS
from training.model import Weights
from training.optimized_model import optimized
from training.rows import Side

__all__ = ["Both", "same", "write_graph"]

_FURTHER_LAYERS, _WIDTH, _HEADS = 4, 384, 12
#: A static vector and two marks.
_PIECE = 130
_LEARNED, _MASKED = 24, -1e4
#: The parts of a layer, and what the file of the model calls them.
_PARTS = {
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "joined": "attention.output.dense", "attended": "attention.output.LayerNorm",
    "wide": "intermediate.dense", "narrow": "output.dense", "result": "output.LayerNorm",
}  # fmt: skip
_OPSET = 17


def same(old: Side, new: Side) -> Tensor:
    """Return 1 where both sides have the same, but for marks."""
    one, other = old.numbers[..., :, None], new.numbers[..., None, :]
    return ((one == other) & (one != 0)).float()


def _masked(values: Tensor, there: Tensor | None) -> Tensor:
    return values if there is None else values.masked_fill(~there, _MASKED)


def _near(x: Tensor, there: Tensor | None) -> Tensor:
    """Return each row with those before and after it."""
    x = functional.relu(x) if there is None else functional.relu(x) * there
    x = functional.pad(x, (0, 0, 1, 1))
    return torch.cat([x[..., :-2, :], x[..., 1:-1, :], x[..., 2:, :]], -1)


class Comparison(nn.Module):
    """Compares each piece with the most similar ones of the other side."""

    def __init__(self, width: int, inner: int = 96, heads: int = 4, hidden: int = 128) -> None:
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(width), nn.Linear(width, inner)
        self.segments = nn.Parameter(torch.zeros(3, inner))
        self.before, self.after = nn.Linear(3 * inner, inner), nn.Linear(3 * inner, inner)
        self.similar, self.equal = nn.Linear(inner, inner, bias=False), nn.Parameter(torch.ones(1))
        self.match, self.weights = nn.Linear(4 * inner + 3, inner), nn.Linear(inner, heads)
        self.hidden = nn.Linear(2 * inner * (heads + 1), hidden)
        self.scores = nn.Linear(hidden, len(Effect))

    def forward(self, old: Side, new: Side, equal: Tensor) -> Tensor:
        """Return the scores of the effects."""
        x, y = self._read(old), self._read(new)
        similar = self.similar(x) @ y.transpose(-1, -2) / math.sqrt(self.inner.out_features) + self.equal * equal
        compared = (
            self._compared(x, y, similar, equal, old.there, new.there),
            self._compared(y, x, similar.transpose(-1, -2), equal.transpose(-1, -2), new.there, old.there),
        )
        hidden = functional.relu(self.hidden(functional.dropout(torch.cat(compared, -1), 0.4, self.training)))
        return self.scores(functional.dropout(hidden, 0.3, self.training))[..., 0, :]

    def _read(self, side: Side) -> Tensor:
        x = self.inner(functional.dropout(self.norm(side.values), 0.2, self.training)) + self.segments[side.segments]
        return x + functional.relu(self.before(_near(x, side.there)))

    def _compared(
        self, x: Tensor, y: Tensor, similar: Tensor, equal: Tensor, there: Tensor | None, others: Tensor | None
    ) -> Tensor:
        similar = _masked(similar, None if others is None else others.transpose(-1, -2))
        weights = similar.softmax(-1)
        nearest = weights @ y
        alike = [each.amax(-1, keepdim=True) for each in (equal, similar / 4, weights)]
        x = torch.cat([x, nearest, (x - nearest).abs(), x * nearest, *alike], -1)
        x = functional.relu(self.match(functional.dropout(x, 0.2, self.training)))
        x = x + functional.relu(self.after(_near(x, there)))
        weights = _masked(self.weights(x), there).softmax(-2)
        attended = (weights.transpose(-1, -2) @ x).flatten(-2)
        return torch.cat([attended, _masked(x, there).amax(-2)], -1).unsqueeze(-2)


class Layer(nn.Module):
    """A layer of the model."""

    def __init__(self, weights: Weights, number: int) -> None:
        super().__init__()
        self.query, self.key, self.value, self.joined = (nn.Linear(_WIDTH, _WIDTH) for _ in range(4))
        self.wide, self.narrow = nn.Linear(_WIDTH, 4 * _WIDTH), nn.Linear(4 * _WIDTH, _WIDTH)
        self.attended, self.result = nn.LayerNorm(_WIDTH, 1e-12), nn.LayerNorm(_WIDTH, 1e-12)
        self.load_state_dict({
            f"{own}.{kind}": weights[f"encoder.layer.{number}.{name}.{kind}"]
            for own, name in _PARTS.items() for kind in ("weight", "bias")
        })  # fmt: skip

    def forward(self, x: Tensor, there: Tensor | None) -> Tensor:
        """Return the states after this layer."""
        query, key, value = (
            part(x).view(x.shape[0], -1, _HEADS, _WIDTH // _HEADS).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        )
        mask = None if there is None else there.transpose(-1, -2).unsqueeze(-3)
        scale = (_WIDTH // _HEADS) ** -0.5
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask, scale=scale)
        joined = self.joined(attended.transpose(1, 2).reshape(x.shape[0], -1, _WIDTH))
        x = self.attended(x + functional.dropout(joined, 0.1, self.training))
        further = self.narrow(functional.gelu(self.wide(x)))
        return self.result(x + functional.dropout(further, 0.1, self.training))


class Joint(nn.Module):
    """The next layers of the model, over both texts at once."""

    def __init__(self, hidden: int = 128) -> None:
        super().__init__()
        weights = _stored()
        self.segments = nn.Parameter(torch.randn(3, _WIDTH) * 0.02)
        self.equal = nn.Parameter(torch.randn(_WIDTH) * 0.02)
        self.layers = nn.ModuleList(Layer(weights, LAYERS + number) for number in range(_FURTHER_LAYERS))
        self.hidden, self.scores = nn.Linear(2 * _WIDTH, hidden), nn.Linear(hidden, len(Effect))

    def forward(self, old: Side, new: Side, equal: Tensor) -> Tensor:
        """Return the scores of the effects."""
        shared = torch.cat([equal.amax(-1), equal.amax(-2)], -1)[..., None]
        x = torch.cat([side.values + self.segments[side.segments] for side in (old, new)], -2) + shared * self.equal
        there = None if old.there is None or new.there is None else torch.cat([old.there, new.there], -2)
        for layer in self.layers:
            x = layer(x, there)
        second = old.values.shape[-2]
        marks = torch.cat([x[..., :1, :], x[..., second : second + 1, :]], -1)
        hidden = functional.relu(self.hidden(functional.dropout(marks, 0.1, self.training)))
        return self.scores(functional.dropout(hidden, 0.2, self.training))[..., 0, :]


class Both(nn.Module):
    """Both parts, and the learned vectors of frequent pieces."""

    own: Tensor

    def __init__(self, frequent: Sequence[int]) -> None:
        """Begin a network.

        Args:
            frequent: The rows of the pieces that have a vector of their own.
        """
        super().__init__()
        own = np.zeros(len(np.load(BUNDLED / "multilingual" / "scales.npy")), np.int32)
        own[list(frequent)] = np.arange(1, len(frequent) + 1)
        self.register_buffer("own", torch.from_numpy(own))
        self.learned = nn.Embedding(len(frequent) + 1, _LEARNED, padding_idx=0)
        nn.init.normal_(self.learned.weight, 0, 0.05)
        nn.init.zeros_(self.learned.weight[0])
        self.first, self.second = Comparison(_PIECE + _LEARNED), Joint()

    def forward(self, pieces: tuple[Side, Side, Tensor], tokens: tuple[Side, Side, Tensor]) -> tuple[Tensor, Tensor]:
        """Return the scores of the first part, and those of both.

        Args:
            pieces: The word pieces of older and newer texts, and which are the same.
            tokens: The same of the tokens.
        """
        old, new, equal = pieces
        alone = self.first(self._with_learned(old), self._with_learned(new), equal)
        device = alone.device.type
        with torch.autocast(device, torch.bfloat16, enabled=self.training and device == "cuda"):
            further = self.second(*tokens)
        return alone, alone + further.float()

    def _with_learned(self, side: Side) -> Side:
        learned = self.learned(self.own[side.numbers].long())
        if self.training:
            learned = learned * (torch.rand_like(learned[..., :1]) > 0.2)
        return side._replace(values=torch.cat([side.values, learned], -1))


def _stored() -> Weights:
    """Return the weights of the further layers in the file of the model."""
    import onnx

    graph = onnx.load(str(BUNDLED / "model.onnx")).graph
    arrays = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {name: array for name, array in arrays.items() if name.startswith("encoder.layer.")}
    for node in graph.node:
        for stored in (name.removesuffix("_quantized") for name in node.input if name.endswith("_quantized")):
            if f"{stored}_quantized" in arrays and node.name.startswith("/encoder/"):
                matrix = arrays[f"{stored}_quantized"].astype(np.float32) * arrays[f"{stored}_scale"].reshape(1, -1)
                weights[node.name.strip("/").split("/MatMul")[0].replace("/", ".") + ".weight"] = matrix.T
    return {name: torch.from_numpy(np.array(array, np.float32)) for name, array in weights.items()}


class _Graph(nn.Module):
    """The network for one pair of texts, with the inputs of the product."""

    def __init__(self, both: Both) -> None:
        super().__init__()
        self.both = both

    def forward(
        self,
        old_rows: Tensor,
        old_pieces: Tensor,
        new_rows: Tensor,
        new_pieces: Tensor,
        new_pieces_segments: Tensor,
        same_pieces: Tensor,
        old_states: Tensor,
        new_states: Tensor,
        new_states_segments: Tensor,
        same_states: Tensor,
    ) -> Tensor:
        # With one text as several, a layer is a product of matrices, which can be rounded.
        older = torch.zeros(1, 1, dtype=torch.long)
        pieces = (
            Side(old_rows[None], old_pieces[None], older),
            Side(new_rows[None], new_pieces[None], new_pieces_segments[None]),
            same_pieces[None],
        )
        # The numbers of tokens are read by `same` alone.
        tokens = (
            Side(older, old_states[None], older),
            Side(older, new_states[None], new_states_segments[None]),
            same_states[None],
        )
        scores: Tensor = self.both(pieces, tokens)[1]
        return scores[0]


def write_graph(both: Both, path: Path) -> None:
    """Write the graph with matrices of 7 bits, as onnxruntime would optimise it."""
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic

    axes = {
        "old_rows": "a", "old_pieces": "a", "new_rows": "b", "new_pieces": "b", "new_pieces_segments": "b",
        "same_pieces": "ab", "old_states": "c", "new_states": "d", "new_states_segments": "d", "same_states": "cd",
    }  # fmt: skip
    sizes = {"a": 5, "b": 7, "c": 9, "d": 11}
    widths = {"old_pieces": (_PIECE,), "new_pieces": (_PIECE,), "old_states": (_WIDTH,), "new_states": (_WIDTH,)}
    examples = tuple(
        _example(name, (*map(sizes.get, letters), *widths.get(name, ()))) for name, letters in axes.items()
    )
    with tempfile.TemporaryDirectory() as folder:
        plain, rounded = Path(folder) / "plain.onnx", Path(folder) / "rounded.onnx"
        with torch.no_grad():
            torch.onnx.export(
                _Graph(both.cpu().eval()), examples, str(plain), dynamo=False, opset_version=_OPSET,
                input_names=list(axes), output_names=["scores"],
                dynamic_axes={name: dict(enumerate(letters)) for name, letters in axes.items()},
            )  # fmt: skip
        model = onnx.load(str(plain))
        _only_initializers(model.graph)
        onnx.save(model, str(plain))
        quantize_dynamic(
            plain, rounded, op_types_to_quantize=["MatMul"], per_channel=True, reduce_range=True,
            weight_type=QuantType.QInt8,
        )  # fmt: skip
        path.write_bytes(optimized(rounded))


def _example(name: str, shape: Any) -> Tensor:  # noqa: ANN401
    return torch.ones(shape, dtype=torch.long) if name.endswith(("rows", "segments")) else torch.randn(shape)


def _only_initializers(graph: Any) -> None:  # noqa: ANN401
    """Make initializers of constants and of copies of initializers: only these are rounded."""
    for node in [node for node in graph.node if node.op_type == "Constant"]:
        tensor = node.attribute[0].t
        tensor.name = node.output[0]
        graph.initializer.append(tensor)
        graph.node.remove(node)
    names = {tensor.name for tensor in graph.initializer}
    copies = [node for node in graph.node if node.op_type == "Identity" and node.input[0] in names]
    original = {node.output[0]: node.input[0] for node in copies}
    for node in copies:
        graph.node.remove(node)
    for node in graph.node:
        node.input[:] = [original.get(name, name) for name in node.input]
