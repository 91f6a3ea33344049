"""The teacher: a cross-encoder, which reads a question and a text together and so judges better than two vectors.

It begins with the weights of the published model, learns from the same questions, and judges the answers and the
hardest negatives of every question. The student learns from its judgements, and leaves out negatives that the teacher
takes for answers. It is not part of the product: it would take milliseconds for each pair.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from training.model import DEVICE, Weights, encoder
from training.negatives import Mined
from training.questions import Questions
from training.sampling import Sampler, rate
from training.tokens import TokenIds
from training.vectors import first_tokens, in_batches

__all__ = ["Judgements", "TeacherRecipe", "judge", "train_teacher"]

#: For each question the scores of its answers and negatives, by text; empty for a question that is not used.
Judgements = list[dict[int, float]]

_TOKENS, _TOKENS_WITHOUT_GRADIENTS = 1 << 15, 1 << 17
#: Negatives that are judged; a question has up to 20.
_JUDGED = 12
_PAIRS_AT_ONCE = 1 << 15


@dataclass(frozen=True, slots=True)
class TeacherRecipe:
    """How the teacher is trained."""

    steps: int = 800
    questions: int = 96
    #: Texts of a question's own store, and of other stores, beside one that answers it.
    negatives: int = 7
    strangers: int = 2
    learning_rate: float = 5e-5
    seed: int = 3


class CrossEncoder(nn.Module):
    """A BERT model that reads a question and a text, and a number that tells how well the text answers."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        self.encoder = encoder(weights)
        self.head = nn.Linear(384, 1)
        nn.init.zeros_(self.head.bias)
        nn.init.normal_(self.head.weight, std=0.02)

    def forward(self, pairs: Sequence[tuple[TokenIds, TokenIds]], tokens: int = _TOKENS) -> Tensor:
        """Return one score for each pair."""
        order: list[int] = []
        scores: list[Tensor] = []
        for batch in in_batches([len(question) + len(text) for question, text in pairs], tokens):
            order += batch
            scores.append(self.head(_read_together(self.encoder, [pairs[index] for index in batch]).float())[:, 0])
        return torch.cat(scores)[torch.from_numpy(np.argsort(order)).to(DEVICE)]


def _read_together(model: nn.Module, pairs: Sequence[tuple[TokenIds, TokenIds]]) -> Tensor:
    """Return the first token's state for pairs: the question, then the text without its [CLS]."""
    return first_tokens(
        model, [question + text[1:] for question, text in pairs], [len(question) for question, _ in pairs]
    )


def train_teacher(
    weights: Weights,
    questions: Questions,
    question_ids: Sequence[TokenIds],
    text_ids: Sequence[TokenIds],
    mined: Mined,
    recipe: TeacherRecipe,
    log: Callable[[str], None],
) -> CrossEncoder:
    """Train the teacher on questions without the prefix."""
    chance = random.Random(recipe.seed)
    torch.manual_seed(recipe.seed)
    model: CrossEncoder = CrossEncoder(weights).to(DEVICE)
    model.encoder.embeddings.requires_grad_(False)
    trained = [parameter for parameter in model.encoder.parameters() if parameter.requires_grad]
    groups = [{"params": trained}, {"params": list(model.head.parameters())}]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01, fused=DEVICE == "cuda")
    sampler = Sampler(questions, mined.used, chance)
    model.train()
    width = 1 + recipe.negatives + recipe.strangers
    first = torch.zeros(recipe.questions, width, device=DEVICE)
    first[:, 0] = 1
    for step in range(recipe.steps):
        optimizer.param_groups[0]["lr"] = rate(recipe.learning_rate, step, recipe.steps)
        optimizer.param_groups[1]["lr"] = 10 * rate(recipe.learning_rate, step, recipe.steps)
        pairs = [
            (question_ids[number], text_ids[text])
            for number in sampler.draw(recipe.questions)
            for text in _choices(questions, mined, number, recipe, chance)
        ]
        scores = model(pairs).view(-1, width)
        loss = functional.cross_entropy(scores, first) + 0.5 * functional.binary_cross_entropy_with_logits(
            scores, first
        )
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_([*trained, *model.head.parameters()], 1.0)
        optimizer.step()
        if step % 100 == 0:
            log(f"teacher: step {step}, loss {loss.item():.4f}")
    model.eval()
    return model


def _choices(
    questions: Questions, mined: Mined, number: int, recipe: TeacherRecipe, chance: random.Random
) -> Iterator[int]:
    """Yield an answer to a question, hard negatives, and texts of any store."""
    yield chance.choice(questions.answers[number])
    negatives = mined.negatives[number]
    hard = chance.sample(negatives, min(recipe.negatives, len(negatives)))
    yield from hard
    for _ in range(recipe.negatives + recipe.strangers - len(hard)):
        yield chance.randrange(len(questions.texts))


@torch.no_grad()
def judge(
    model: CrossEncoder,
    questions: Questions,
    question_ids: Sequence[TokenIds],
    text_ids: Sequence[TokenIds],
    mined: Mined,
) -> Judgements:
    """Return the teacher's scores of answers and negatives."""
    pairs = [
        (number, text)
        for number, used in enumerate(mined.used)
        if used
        for text in dict.fromkeys((*questions.answers[number], *mined.negatives[number][:_JUDGED]))
    ]
    judgements: Judgements = [{} for _ in questions.questions]
    for start in range(0, len(pairs), _PAIRS_AT_ONCE):
        some = pairs[start : start + _PAIRS_AT_ONCE]
        rows = [(question_ids[number], text_ids[text]) for number, text in some]
        scores: NDArray[np.float32] = model(rows, _TOKENS_WITHOUT_GRADIENTS).cpu().numpy()
        for (number, text), score in zip(some, scores, strict=True):
            judgements[number][text] = float(score)
    return judgements
