"""The student: the embedding model itself, trained so that questions lie near the texts that answer them.

Four terms make the loss of a step:

    contrast      the answer before all other texts of the step, hard negatives among them
    distillation  the teacher's preferences among the answer and some hard negatives
    pull          vectors stay near those of the model it begins with
    guard         a part of a general text finds the same passages as before
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import parametrize

from training.model import DEVICE, LAYERS, Weights, encoder, quantize_in_training, state
from training.negatives import NEAR_COPY, Mined
from training.questions import Questions
from training.sampling import Sampler, rate
from training.teacher import Judgements
from training.tokens import TokenIds, Tokenizer
from training.vectors import forward

__all__ = ["StudentRecipe", "Task", "train_student"]

#: A negative that the teacher scores at most this much lower than the answer may be an answer, too.
_DOUBT = 1.0
#: How much of the distilled preference is the known answer.
_KNOWN = 0.35
_NEVER = -1e4
#: The families of general texts, whose ranking is guarded.
_GENERAL = re.compile(r"docs|fairytaleqa|squad|pubmedqa|qamr")
_GUARD_TEMPERATURE = 0.03


@dataclass(frozen=True, slots=True)
class StudentRecipe:
    """How the student is trained."""

    steps: int = 900
    questions: int = 256
    #: Questions of the same store in a step; their answers are each other's negatives.
    together: int = 6
    #: Hard negatives of a question that the teacher has judged.
    negatives: int = 5
    learning_rate: float = 8e-5
    temperature: float = 0.02
    #: Weights of the terms.
    distillation: float = 1.0
    pull: float = 1.0
    guard: float = 2.0
    #: The guard is computed every so many steps, with this many passages and queries.
    guard_every: int = 2
    passages: int = 160
    queries: int = 64
    layers: int = LAYERS
    seed: int = 1


@dataclass(frozen=True, slots=True)
class Task:
    """Questions with their negatives and the teacher's judgements, and the model that the student stays near."""

    questions: Questions
    question_ids: Sequence[TokenIds]
    text_ids: Sequence[TokenIds]
    mined: Mined
    judgements: Judgements
    tokenizer: Tokenizer
    #: The model to stay near, and its vectors.
    anchor: Any
    question_vectors: NDArray[np.float32]
    text_vectors: NDArray[np.float32]


@dataclass(slots=True)
class _Batch:
    """The questions of a step and all their texts, each once."""

    questions: list[int]
    texts: list[int] = field(default_factory=list)
    #: For each question, the place of its answer among the texts.
    gold: list[int] = field(default_factory=list)
    #: For each question, texts that may answer it as well.
    doubtful: list[set[int]] = field(default_factory=list)
    #: For each question that has them, the places of the answer and some negatives, and the teacher's scores.
    judged: list[tuple[int, list[int], list[float]]] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)

    def place(self, text: int) -> int:
        """Return the place of a text, which is added if it is new."""
        if text not in self.places:
            self.places[text] = len(self.texts)
            self.texts.append(text)
        return self.places[text]

    def hidden(self) -> Tensor:
        """Return a mask of the texts that are no negatives of a question."""
        mask = torch.zeros(len(self.questions), len(self.texts), dtype=torch.bool)
        for row, texts in enumerate(self.doubtful):
            for text in texts & self.places.keys():
                mask[row, self.places[text]] = True
        return mask.to(DEVICE)


def train_student(weights: Weights, task: Task, recipe: StudentRecipe, log: Callable[[str], None]) -> Weights:
    """Train a model that begins with these weights, and return its own before rounding."""
    chance = random.Random(recipe.seed)
    torch.manual_seed(recipe.seed)
    model = encoder(weights, recipe.layers)
    model.embeddings.requires_grad_(False)
    quantize_in_training(model)
    model.train()
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, weight_decay=0.01, fused=DEVICE == "cuda")
    sampler = Sampler(task.questions, task.mined.used, chance)
    general = _general_texts(task.questions)
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate(recipe.learning_rate, step, recipe.steps)
        batch = _draw(task, recipe, sampler, chance)
        with parametrize.cached():
            loss = _loss(model, task, recipe, batch)
            if recipe.guard and step % recipe.guard_every == 0:
                loss = loss + recipe.guard * _guard(model, task, recipe, general, chance)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        if step % 100 == 0:
            log(f"student {recipe.seed}: step {step}, loss {loss.item():.4f}, {len(batch.texts)} texts")
    return state(model)


def _draw(task: Task, recipe: StudentRecipe, sampler: Sampler, chance: random.Random) -> _Batch:
    batch = _Batch(sampler.draw(recipe.questions, recipe.together))
    for row, number in enumerate(batch.questions):
        answers, scores = task.questions.answers[number], task.judgements[number]
        answer = chance.choice(answers)
        batch.gold.append(batch.place(answer))
        judged = [text for text in task.mined.negatives[number] if text in scores]
        chosen = [answer, *chance.sample(judged, min(recipe.negatives, len(judged)))]
        batch.judged.append((row, [batch.place(text) for text in chosen], [scores[text] for text in chosen]))
        doubtful = {text for text, score in scores.items() if score > scores[answer] - _DOUBT}
        batch.doubtful.append((doubtful | set(answers)) - {answer})
    return batch


def _loss(model: Any, task: Task, recipe: StudentRecipe, batch: _Batch) -> Tensor:  # noqa: ANN401
    questions = forward(model, [task.question_ids[number] for number in batch.questions])
    texts = forward(model, [task.text_ids[text] for text in batch.texts])
    old_questions = torch.from_numpy(task.question_vectors[batch.questions]).to(DEVICE)
    old_texts = torch.from_numpy(task.text_vectors[batch.texts]).to(DEVICE)
    similarities = questions @ texts.T / recipe.temperature
    pull = (1 - (texts * old_texts).sum(1)).mean() + (1 - (questions * old_questions).sum(1)).mean()
    return (
        _contrast(similarities, batch, old_texts)
        + recipe.distillation * _distillation(similarities, batch)
        + recipe.pull * pull
    )


def _contrast(similarities: Tensor, batch: _Batch, old_texts: Tensor) -> Tensor:
    """Return the loss of the answers against all texts but those that may answer, or say the same as the answer."""
    gold = torch.tensor(batch.gold, device=DEVICE)
    copies = old_texts[gold] @ old_texts.T > NEAR_COPY
    copies[torch.arange(len(gold), device=DEVICE), gold] = False
    return functional.cross_entropy(similarities.masked_fill(batch.hidden() | copies, _NEVER), gold)


def _distillation(similarities: Tensor, batch: _Batch) -> Tensor:
    """Return the loss of the student's preferences among judged texts against those of the teacher."""
    width = max(len(places) for _, places, _ in batch.judged)
    places = torch.zeros(len(batch.judged), width, dtype=torch.long)
    scores = torch.full((len(batch.judged), width), _NEVER)
    for row, (_, some, judged) in enumerate(batch.judged):
        places[row, : len(some)] = torch.tensor(some)
        scores[row, : len(some)] = torch.tensor(judged)
    places, scores = places.to(DEVICE), scores.to(DEVICE)
    rows = torch.tensor([row for row, _, _ in batch.judged], device=DEVICE)
    own = similarities[rows].gather(1, places).masked_fill(scores <= _NEVER, _NEVER)
    known = torch.zeros_like(scores)
    known[:, 0] = 1
    wanted = _KNOWN * known + (1 - _KNOWN) * functional.softmax(scores, 1)
    return -(wanted * functional.log_softmax(own, 1)).sum(1).mean()


def _general_texts(questions: Questions) -> list[int]:
    return [
        row
        for source, rows in zip(questions.sources, questions.store_texts, strict=True)
        if _GENERAL.match(source.family)
        for row in rows
    ]


def _guard(
    model: Any,  # noqa: ANN401
    task: Task,
    recipe: StudentRecipe,
    general: Sequence[int],
    chance: random.Random,
) -> Tensor:
    """Return how far parts of general texts rank passages differently, and passages lie differently to each other."""
    passages = chance.sample(general, min(recipe.passages, len(general)))
    parts = [
        _part(task.questions.texts[row], chance) for row in chance.sample(passages, min(recipe.queries, len(passages)))
    ]
    queries = task.tokenizer.questions(parts, 64)
    texts, asked = forward(model, [task.text_ids[row] for row in passages]), forward(model, queries)
    old_texts = torch.from_numpy(task.text_vectors[passages]).to(DEVICE)
    with torch.no_grad():
        old_asked = forward(task.anchor, queries)
    own = functional.log_softmax(asked @ texts.T / _GUARD_TEMPERATURE, 1)
    old = functional.softmax(old_asked @ old_texts.T / _GUARD_TEMPERATURE, 1)
    ranking = functional.kl_div(own, old, reduction="batchmean")
    return ranking + 20 * functional.mse_loss(texts @ texts.T, old_texts @ old_texts.T)


def _part(text: str, chance: random.Random) -> str:
    """Return 5 to 20 words of a text."""
    words = text.split()
    start = chance.randrange(max(1, len(words) - 12))
    return " ".join(words[start : start + chance.randint(5, 20)])
