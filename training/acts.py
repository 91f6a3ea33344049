"""Train the two networks that tell what a sentence does: `python -m training.acts --questions FILE --out FILE`.

The sentences are in `training/sentences`, a file for each language, in sections headed by their act. The labelled turns
of `bench/sentences` for development are learned as well, as far as they say what a turn is or is not. Of the texts of
the embedding questions, which are conversations of others and documents, the networks learn that they give no rules,
close no tasks and change nothing.

The first network reads the static vectors of word pieces, the second the states of tokens in the first layers of the
bundled model. Each is trained alone and in sum with the other. A sentence that four networks, each trained without a
quarter of the sentences, judge otherwise than its author counts half.
"""

from __future__ import annotations

import argparse
import json
import lzma
import math
import random
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from memotherm.embed.local import knows_language, token_states
from memotherm.statements.acts import MAX_PIECES, MAX_TOKENS, Act
from memotherm.text.phrases import sentences
from training.model import DEVICE
from training.pair_groups import groups
from training.rows import Rows, pieces_of, read

__all__ = ["main"]

FOLDER = Path(__file__).parent / "sentences"
LABELLED = Path(__file__).parent.parent / "bench" / "sentences"
#: What the texts of others do not do.
_NOT_BY_OTHERS = (
    Act.RULE, Act.RULE_EVERYWHERE, Act.REVOKE, Act.DONE, Act.CANCELLED, Act.CHANGE, Act.TASK,
)  # fmt: skip
_OTHERS = 6000
#: What a line of `training/pairs` of one sentence may be, by its letter.
_OF_LETTERS = {
    "S": frozenset((Act.FACT, Act.DECISION, Act.PREFERENCE, Act.PROFILE, Act.STORY)),
    "R": frozenset((Act.RULE, Act.RULE_EVERYWHERE, Act.PREFERENCE)),
    "T": frozenset((Act.TASK, Act.REQUEST)),
    "U": frozenset(Act) - {Act.TASK, Act.REQUEST, Act.GUESS, Act.STORY, Act.QUESTION, Act.FILLER},
    "B": frozenset(Act) - {Act.RULE_EVERYWHERE, Act.CHANGE, Act.REVOKE, Act.DONE, Act.CANCELLED},
    "D": frozenset((Act.DONE, Act.FACT, Act.STORY, Act.CHANGE)),
    "C": frozenset((Act.CANCELLED, Act.CHANGE, Act.REVOKE, Act.DECISION)),
    "N": frozenset(Act) - {Act.RULE, Act.RULE_EVERYWHERE, Act.REVOKE, Act.PREFERENCE, Act.PROFILE},
}
#: A piece has a vector of its own if so many sentences have it.
_LEAST_PIECES = 3
_FOLDS, _EPOCHS, _BATCH, _RATE = 4, 22, 128, 2e-3
_OTHERS_IN_BATCH, _LINES_IN_BATCH = 40, 64
_SMOOTHING, _ALONE, _SOFT = 0.05, 0.5, 0.5


class Example(NamedTuple):
    """A sentence, and the acts that it may be."""

    text: str
    acts: frozenset[Act]
    language: str = ""


def listed() -> Iterator[Example]:
    """Yield the sentences of the files."""
    for path in sorted(FOLDER.glob("*.txt")):
        act = Act.RULE
        for line in path.read_text("utf-8").splitlines():
            if line.startswith("# "):
                act = Act(line.removeprefix("# "))
            else:
                yield Example(line, frozenset((act,)), path.stem)


def labelled() -> Iterator[Example]:
    """Yield the labelled turns for development."""
    for path in sorted(LABELLED.glob("*development.jsonl")):
        for turn in map(json.loads, path.read_text("utf-8").splitlines()):
            yield Example(turn["text"], _acts_of(turn), "turns")


def _acts_of(turn: dict[str, Any]) -> frozenset[Act]:
    ends = frozenset((Act.DONE, Act.CANCELLED))
    rules = frozenset((Act.RULE, Act.RULE_EVERYWHERE, Act.REVOKE))
    if "rule" in turn:
        here = (Act.RULE, Act.PREFERENCE) if turn["rule"] else (Act.RULE, Act.PREFERENCE, Act.RULE_EVERYWHERE)
        return frozenset((Act.RULE_EVERYWHERE,) if turn["rule"] == "everywhere" else here)
    if turn.get("trap") == "no rule":
        return frozenset(Act) - rules
    if "task" in turn or turn.get("trap") == "no task":
        return frozenset((Act.TASK,)) if "task" in turn else frozenset(Act) - {Act.TASK}
    if "corrects" in turn:
        return frozenset((Act.CHANGE,))
    if "open" in turn:
        return ends if turn.get("ends") or turn.get("done") else frozenset(Act) - ends
    return frozenset(Act) - {Act.CHANGE}


def of_pairs() -> Iterator[Example]:
    """Yield the lines of the groups of pairs that are one sentence."""
    for line in (line for group in groups() for line in group.lines):
        if len(sentences(line.text)) == 1:
            yield Example(line.text, _OF_LETTERS[line.kind])


def of_others(questions: Path) -> list[Example]:
    """Return sentences of the texts that the embedding model is trained on."""
    chosen, found = random.Random(5), list[str]()
    with lzma.open(questions, "rt", encoding="utf-8") as lines:
        for line in lines:
            texts = json.loads(line)["texts"]
            for text in chosen.sample(texts, min(3, len(texts))):
                said = text.partition(": ")[2] or text
                short = [each.strip() for each in sentences(said) if 2 < len(each.split()) < 36]
                found += [chosen.choice(short)] if short else []
    chosen.shuffle(found)
    return [Example(text, frozenset(Act) - frozenset(_NOT_BY_OTHERS)) for text in found[:_OTHERS]]


#: The places of examples, with how many of them a batch has.
Beside = Sequence[tuple[Sequence[int], int]]


class Inputs:
    """What the networks read of each sentence."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.rows, pieces, states = map(list, zip(*read(texts, _read), strict=True))
        self.pieces = Rows(self.rows, pieces, MAX_PIECES)
        self.states = Rows([[0] * len(each) for each in states], states, MAX_TOKENS)
        #: Which sentences have states, as a column.
        self.known = torch.tensor([[float(len(each) > 0)] for each in states], device=DEVICE)


def _read(text: str) -> tuple[list[int], Any, Any]:
    """Return the rows of the word pieces of a sentence, their vectors and marks, and the states of its tokens."""
    states = token_states(text, MAX_TOKENS) if knows_language(text) else np.zeros((0, 384))
    return *pieces_of(text, MAX_PIECES), states.astype(np.float16)


class Network(nn.Module):
    """The network of `memotherm.statements.acts`, for several sentences."""

    def __init__(self, width: int, inner: int = 96, heads: int = 6, hidden: int = 128) -> None:
        super().__init__()
        self.ln, self.p = nn.LayerNorm(width), nn.Linear(width, inner)
        self.c = nn.Conv1d(inner, inner, 3, padding=1)
        self.c2 = nn.Conv1d(inner, inner, 3, padding=2, dilation=2)
        self.q, self.h, self.o = (
            nn.Linear(inner, heads),
            nn.Linear(inner * (heads + 1), hidden),
            nn.Linear(hidden, len(Act)),
        )

    def forward(self, x: Tensor, there: Tensor) -> Tensor:
        """Return the scores of the acts."""
        x = self.p(functional.dropout(self.ln(x), 0.2, self.training))
        for layer in (self.c, self.c2):
            x = x + functional.relu(layer((functional.relu(x) * there).transpose(1, 2)).transpose(1, 2))
        weights = self.q(x).masked_fill(there == 0, -1e4).softmax(1)
        pooled = torch.cat([(weights.transpose(1, 2) @ x).flatten(1), x.masked_fill(there == 0, -1e4).amax(1)], 1)
        hidden = functional.relu(self.h(functional.dropout(pooled, 0.4, self.training)))
        return self.o(functional.dropout(hidden, 0.3, self.training))


class Both(nn.Module):
    """Both networks, and the vectors of frequent pieces."""

    def __init__(self, inputs: Inputs, places: Sequence[int], learned: int = 32) -> None:
        super().__init__()
        counts = Counter(row for place in places for row in inputs.rows[place])
        self.own = sorted(row for row in counts if counts[row] >= _LEAST_PIECES)
        self.inputs = inputs
        self.places = torch.zeros(max(counts) + 1, dtype=torch.long, device=DEVICE)
        self.places[self.own] = torch.arange(1, len(self.own) + 1, device=DEVICE)
        self.learned = nn.Embedding(len(self.own) + 1, learned, padding_idx=0)
        nn.init.normal_(self.learned.weight, 0, 0.05)
        self.first, self.second = Network(130 + learned), Network(384)

    def forward(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Return the scores of the first network, and those of both."""
        pieces, states = self.inputs.pieces.older(places), self.inputs.states.older(places)
        known = pieces.numbers.clamp(max=len(self.places) - 1)
        learned = self.learned(self.places[known] * (pieces.numbers == known))
        if self.training:
            learned = learned * (torch.rand(*pieces.numbers.shape, 1, device=DEVICE) > 0.2)
        alone = self.first(torch.cat([pieces.values, learned], -1), pieces.there)
        return alone, alone + self.second(states.values, states.there) * self.inputs.known[places]


def trained(
    inputs: Inputs, may: Tensor, places: Sequence[int], beside: Beside, seed: int, soft: Tensor | None = None
) -> Both:
    """Train both networks on the examples at some places, and on a part of other examples in each batch.

    Args:
        inputs: What the networks read.
        may: For each example, the acts that it may be.
        places: The examples to learn.
        beside: The places of other examples, with how many of them a batch has.
        seed: Decides the order and the first weights.
        soft: What other networks take the examples for, or zeros.
    """
    torch.manual_seed(seed)
    chosen = random.Random(seed)
    both = Both(inputs, places)
    both.to(DEVICE)
    optimizer = torch.optim.AdamW(both.parameters(), _RATE, weight_decay=0.05)
    steps = _EPOCHS * math.ceil(len(places) / _BATCH)
    rate = torch.optim.lr_scheduler.OneCycleLR(optimizer, _RATE, total_steps=steps, pct_start=0.1)
    both.train()
    for _ in range(_EPOCHS):
        order = chosen.sample(list(places), len(places))
        for start in range(0, len(order), _BATCH):
            own = order[start : start + _BATCH]
            others = [place for among, number in beside for place in chosen.choices(among, k=number)]
            batch = torch.tensor([*own, *others], device=DEVICE)
            weights = torch.ones(len(batch), device=DEVICE)
            weights[len(own) :] = 0.5
            alone, together = both(batch)
            judged = None if soft is None else soft[batch]
            loss = sum(
                share * (_loss(scores, may[batch], judged) * weights).mean()
                for scores, share in ((alone, _ALONE), (together, 1.0))
            )
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(both.parameters(), 1.0)
            optimizer.step()
            rate.step()
    both.eval()
    return both


def _loss(scores: Tensor, may: Tensor, soft: Tensor | None) -> Tensor:
    """Return the loss of each example: the probability of what it may be, smoothed where that is one act."""
    found = functional.log_softmax(scores, 1)
    single = (may.sum(1) == 1).float()
    loss = -torch.logsumexp(found.masked_fill(may == 0, -1e4), 1)
    loss = loss * (1 - _SMOOTHING * single) - found.mean(1) * _SMOOTHING * single
    if soft is None:
        return loss
    judged = (soft.sum(1) > 0).float()
    return loss * (1 - _SOFT * judged) - (soft * found).sum(1) * _SOFT * judged


@torch.no_grad()
def probabilities(both: Both, places: Sequence[int]) -> Tensor:
    """Return what both networks take examples for."""
    batches = torch.tensor(places, device=DEVICE).split(512)
    return torch.cat([functional.softmax(both(batch)[1], 1) for batch in batches])


def written(both: Both, path: Path) -> None:
    """Write the weights as the product reads them."""
    arrays = {
        f"{name}.{key}": value.cpu().numpy().astype(np.float16)
        for name, network in (("pieces", both.first), ("states", both.second))
        for key, value in network.state_dict().items()
    }
    learned = both.learned.weight.detach().cpu().numpy()[1:]
    scale = np.abs(learned).max(axis=0) / 127
    arrays["rows"] = np.array(both.own, np.int32)
    arrays["learned"], arrays["learned_scale"] = np.round(learned / scale).astype(np.int8), scale.astype(np.float32)
    np.savez_compressed(path, **arrays)


def report(examples: Sequence[Example], may: Tensor, found: Tensor) -> str:
    """Return for each language how many sentences that were not learned are taken for what they may be."""
    right = may.gather(1, found.argmax(1, keepdim=True)).flatten().tolist()
    by_language: dict[str, list[float]] = {}
    for example, each in zip(examples, right, strict=False):
        by_language.setdefault(example.language, []).append(each)
    return "\n".join(
        f"{language:12}{sum(each) / len(each):6.3f} of {len(each)}" for language, each in sorted(by_language.items())
    )


def main(words: Sequence[str] | None = None) -> None:
    """Train the networks, print how often they are right about sentences that they did not learn, and write them."""
    parser = argparse.ArgumentParser(prog="python -m training.acts", description="Train what tells what sentences do.")
    parser.add_argument("--questions", type=Path, required=True, help="the questions of the embedding model")
    parser.add_argument("--out", type=Path, required=True, help="write the weights to this file, acts.npz")
    arguments = parser.parse_args(words)
    own, lines = [*listed(), *labelled()], list(of_pairs())
    examples = [*own, *lines, *of_others(arguments.questions)]
    inputs = Inputs([example.text for example in examples])
    may = torch.tensor([[float(act in example.acts) for act in Act] for example in examples], device=DEVICE)
    first = len(own) + len(lines)
    beside = (
        (range(len(own), first), _LINES_IN_BATCH),
        (range(first, len(examples)), _OTHERS_IN_BATCH),
    )
    soft = torch.zeros_like(may)
    folds = [zlib.crc32(example.text.encode()) % _FOLDS for example in own]
    for fold in range(_FOLDS):
        learned = [place for place, each in enumerate(folds) if each != fold]
        left = [place for place, each in enumerate(folds) if each == fold]
        soft[left] = probabilities(trained(inputs, may, learned, beside, fold), left)
        print(f"fold {fold + 1} of {_FOLDS}", flush=True)
    print(report(own, may, soft))
    soft = soft * may
    soft = soft / soft.sum(1, keepdim=True).clamp(min=1e-6)
    written(trained(inputs, may, range(len(own)), beside, _FOLDS, soft), arguments.out)


if __name__ == "__main__":
    main()
