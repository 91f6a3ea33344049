"""Train what tells what a newer text does to an older one: `python -m training.pairs --questions FILE --out FILE`.

The pairs come from the groups in `training/pairs`, a file for each language, and from the texts of the embedding
questions: two turns of others that share words have nothing to do with each other. A seventh of the groups and of these
pairs is not learned, and the report is about it.

The network reads the static vectors of word pieces, and the states of tokens in the first layers of the bundled model.
The first part is trained alone and in sum with the second.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from memotherm.embed.local import token_ids, token_states
from memotherm.statements.pairs import MAX_PIECES, MAX_PIECES_OF_BOTH, MAX_TOKENS, MAX_TOKENS_OF_BOTH, Effect
from training.model import DEVICE
from training.pair_groups import Pair, groups, of_others, pairs_of
from training.pair_network import Both, same, write_graph
from training.rows import Rows, pieces_of, read

__all__ = ["main"]

#: A piece has a vector of its own if it occurs so often in the texts.
_LEAST_PIECES = 6
_EPOCHS, _BATCH, _RATE, _RATE_OF_LAYERS, _SEED = 14, 256, 2e-3, 2e-4, 3
_SMOOTHING, _ALONE = 0.05, 0.5
#: In an epoch there are, for each newer line with its older one, so many other pairs of a group and of others.
_OF_GROUPS, _OF_OTHERS = 1.2, 0.2
#: How often what a newer text answers is left out, where it replaces nothing.
_UNANSWERED = 0.2
_THRESHOLDS = (0.5, 0.7, 0.85)
_EFFECTS = list(Effect)


class Inputs:
    """What the network reads of pairs."""

    def __init__(self, pairs: Sequence[Pair]) -> None:
        texts = dict.fromkeys(text for pair in pairs for text in (pair.old, pair.new, pair.answered) if text)
        places = {text: place for place, text in enumerate(texts)} | {"": -1}
        self._places = torch.tensor([[places[pair.old], places[pair.new], places[pair.answered]] for pair in pairs])
        self.effects = torch.tensor([_EFFECTS.index(pair.effect) for pair in pairs])
        rows, pieces, tokens, states = map(list, zip(*read(list(texts), _read), strict=True))
        self._pieces = Rows(rows, pieces, MAX_PIECES_OF_BOTH)
        self._tokens = Rows(tokens, states, MAX_TOKENS_OF_BOTH)
        counts = Counter(row for each in rows for row in each)
        #: The rows of the pieces that have a vector of their own.
        self.frequent = sorted(row for row, count in counts.items() if count >= _LEAST_PIECES)

    def scores(self, both: Both, places: Sequence[int], unanswered: Sequence[bool] = ()) -> tuple[Tensor, Tensor]:
        """Return the scores of the first part of a network, and of both.

        Args:
            both: The network.
            places: The places of pairs.
            unanswered: For each, whether to leave out what the newer text answers; none by default.
        """
        old, new, answered = self._places[list(places)].to(DEVICE).T
        if unanswered:
            answered = answered.masked_fill(torch.tensor(unanswered, device=DEVICE), -1)
        sides = [(rows.older(old), rows.newer(new, answered)) for rows in (self._pieces, self._tokens)]
        pieces, tokens = ((*each, same(*each)) for each in sides)
        scores: tuple[Tensor, Tensor] = both(pieces, tokens)
        return scores


def _read(text: str) -> tuple[list[int], Any, list[int], Any]:
    """Return the rows of the word pieces of a text, their vectors and marks, its tokens and their states."""
    tokens = [0, *token_ids(text, MAX_TOKENS)[1:-1], 0]
    return *pieces_of(text, MAX_PIECES), tokens, token_states(text, MAX_TOKENS).astype(np.float16)


def trained(inputs: Inputs, pairs: Sequence[Pair], learned: Sequence[int]) -> Both:
    """Return a network that has learned the pairs at some places."""
    torch.manual_seed(_SEED)
    chosen = random.Random(_SEED)
    both = Both(inputs.frequent)
    both.to(DEVICE)
    layers = list(both.second.layers.parameters())
    own = {id(weights) for weights in layers}
    others = [weights for weights in both.parameters() if id(weights) not in own]
    optimizer = torch.optim.AdamW([{"params": others}, {"params": layers}], _RATE, weight_decay=0.05)
    epochs = [list(_epoch(pairs, learned, chosen)) for _ in range(_EPOCHS)]
    steps = sum(map(len, epochs))
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, [_RATE, _RATE_OF_LAYERS], total_steps=steps, pct_start=0.1)
    both.train()
    for number, epoch in enumerate(epochs, 1):
        losses = 0.0
        for batch in epoch:
            effects = inputs.effects[batch].to(DEVICE)
            unanswered = [
                pairs[place].effect is not Effect.REPLACED and chosen.random() < _UNANSWERED for place in batch
            ]
            loss = sum(
                share * functional.cross_entropy(scores, effects, label_smoothing=_SMOOTHING)
                for scores, share in zip(inputs.scores(both, batch, unanswered), (_ALONE, 1.0), strict=True)
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(both.parameters(), 1.0)
            optimizer.step()
            rate.step()
            losses += float(loss.detach())
        print(f"epoch {number}: loss {losses / len(epoch):.3f}", flush=True)
    both.eval()
    return both


def _epoch(pairs: Sequence[Pair], learned: Sequence[int], chosen: random.Random) -> Iterator[list[int]]:
    """Yield the batches of an epoch: every newer line with its older one, and a part of the other pairs."""
    own = [place for place in learned if len(pairs[place].kind) == 1]
    of_groups = [place for place in learned if len(pairs[place].kind) > 1 and pairs[place].kind != "others"]
    others = [place for place in learned if pairs[place].kind == "others"]
    order = own + [
        place
        for places, share in ((of_groups, _OF_GROUPS), (others, _OF_OTHERS))
        for place in chosen.sample(places, min(len(places), int(share * len(own))))
    ]
    chosen.shuffle(order)
    for start in range(0, len(order), _BATCH):
        yield order[start : start + _BATCH]


@torch.no_grad()
def probabilities(inputs: Inputs, both: Both, places: Sequence[int]) -> Tensor:
    """Return how likely the newer texts of pairs have each effect."""
    batches = (places[start : start + 2 * _BATCH] for start in range(0, len(places), 2 * _BATCH))
    return torch.cat([functional.softmax(inputs.scores(both, batch)[1], 1).cpu() for batch in batches])


def report(pairs: Sequence[Pair], found: Tensor) -> str:
    """Return, for each kind of pair, how many newer texts are taken to replace the older one, or to end the task.

    Args:
        pairs: The pairs.
        found: How likely the newer text of each has each effect.
    """
    counts = Counter(pair.kind for pair in pairs)
    heading = "".join(f"{f'>{threshold}':>7}" for threshold in _THRESHOLDS)
    lines = [f"{'':14}{'pairs':>7}  replaced{heading}  ended{heading}"]
    for kind in sorted(counts):
        likely = found[[place for place, pair in enumerate(pairs) if pair.kind == kind]]
        replaced, ended = likely[:, 1], likely[:, 2:].sum(1)
        shares = [
            "".join(f"{float((each > threshold).float().mean()):7.3f}" for threshold in _THRESHOLDS)
            for each in (replaced, ended)
        ]
        lines.append(f"{kind:14}{counts[kind]:7}  {'':8}{shares[0]}  {'':5}{shares[1]}")
    return "\n".join(lines)


def main(words: Sequence[str] | None = None) -> None:
    """Train the network, print what it does on pairs that it did not learn, and write it."""
    parser = argparse.ArgumentParser(prog="python -m training.pairs", description="Train what compares two texts.")
    parser.add_argument("--questions", type=Path, required=True, help="the questions of the embedding model")
    parser.add_argument("--out", type=Path, required=True, help="write the network to this file, pairs.onnx")
    arguments = parser.parse_args(words)
    pairs = [*(pair for group in groups() for pair in pairs_of(group)), *of_others(arguments.questions)]
    inputs = Inputs(pairs)
    learned = [place for place, pair in enumerate(pairs) if not pair.is_held_out]
    left = [place for place, pair in enumerate(pairs) if pair.is_held_out]
    print(f"{len(learned)} pairs to learn, {len(left)} for the report, on {DEVICE}", flush=True)
    both = trained(inputs, pairs, learned)
    print(report([pairs[place] for place in left], probabilities(inputs, both, left)))
    write_graph(both, arguments.out)


if __name__ == "__main__":
    main()
