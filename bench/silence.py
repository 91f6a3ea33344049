"""Measure whether contexts stay empty for prompts without an answer, and the cost for other prompts.

Every question and every prompt asks for a context of 2,000 tokens without a floor of confidence. The context has
the gold documents and the confidence from which both figures follow, with and without the floor.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from bench.controls import cached
from bench.datasets import Document, EvaluationQuestion, EvaluationSet, SilentPrompt
from bench.quality import Progress, SetClock, latest, remember_documents, view_of
from memotherm import embed
from memotherm.embed import Embedder
from memotherm.opening import open as open_memory
from memotherm.settings import load as load_settings

__all__ = ["TEN_FACTS", "SilenceResult", "beginnings", "measure_silence"]

_BUDGET = 2000
#: Prompts are asked in at most this many of the stores of a set.
_MOST_SCOPES = 5
#: The numbers of turns of the short conversations that are measured besides a whole one.
_SHORT = (30, 100)


@dataclass(frozen=True, kw_only=True, slots=True)
class SilenceResult:
    """Results of one set: the confidence of every question and prompt, and the gold in the contexts."""

    name: str
    #: The floor that is the default.
    floor: float
    #: The confidence and the share of the gold documents in the context, for each question.
    answers: tuple[tuple[float, float], ...]
    #: The confidence of each prompt that no memory answers.
    prompts: tuple[float, ...]

    @property
    def silent(self) -> float:
        """The share of prompts whose context contains no recalled memories."""
        return mean(confidence < self.floor for confidence in self.prompts)

    @property
    def gold(self) -> float:
        """The share of the gold documents in the contexts, with the floor."""
        return mean(share if confidence >= self.floor else 0.0 for confidence, share in self.answers)

    @property
    def gold_without_floor(self) -> float:
        """The same without a floor."""
        return mean(share for _, share in self.answers)

    @property
    def area(self) -> float:
        """The area under the curve: how often a question has a higher confidence than a prompt; ties count half."""
        return mean(
            (question > prompt) + (question == prompt) / 2 for question, _ in self.answers for prompt in self.prompts
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the content of the table as JSON values."""
        return {
            "set": self.name,
            "n": len(self.answers),
            "prompts": len(self.prompts),
            "floor": self.floor,
            "silent": round(self.silent, 4),
            "gold": round(self.gold, 4),
            "gold_without_floor": round(self.gold_without_floor, 4),
            "area": round(self.area, 4),
        }


def measure_silence(
    data: EvaluationSet,
    prompts: Sequence[SilentPrompt],
    folder: Path,
    progress: Progress,
    *,
    embedder: Embedder | None = None,
    cache: Path | None = None,
) -> SilenceResult:
    """Ask the questions of a set, and the prompts in its stores; commands in stores of conversations only.

    Args:
        data: The documents and questions.
        prompts: The prompts that no memory answers.
        folder: The folder for the store.
        progress: Called after every step.
        embedder: Makes all vectors; None takes the bundled model.
        cache: A folder for vectors that later runs use again.
    """
    clock = SetClock()
    model = cached(embedder or embed.resolve("local"), cache)
    scopes = list(dict.fromkeys(question.scope for question in data.questions))[:_MOST_SCOPES]
    conversation = data.documents[0].kind == "message"
    asked = [prompt for prompt in prompts if conversation or prompt.type != "command"]
    answers, confidences = [], []
    settings = {"context_min_confidence": 0.0}
    with open_memory(folder / "silence.db", embedder=model, settings=settings, clock=clock) as memory:
        names = remember_documents(memory, clock, data, progress)
        for question in data.questions:
            clock.now = question.at or latest(data, question.scope)
            context = view_of(memory, question.scope).context(question.text, _BUDGET, track=False)
            included = {document for entry in context.included for document in names[entry.id]}
            answers.append((context.confidence or 0.0, len(question.gold & included) / len(question.gold)))
            progress("ask", 1, len(data.questions))
        for scope in scopes:
            clock.now = latest(data, scope)
            for prompt in asked:
                confidences.append(view_of(memory, scope).context(prompt.text, _BUDGET, track=False).confidence or 0.0)
                progress("prompts", 1, len(scopes) * len(asked))
    floor = load_settings().context_min_confidence
    return SilenceResult(name=data.name, floor=floor, answers=tuple(answers), prompts=tuple(confidences))


def beginnings(data: EvaluationSet) -> list[EvaluationSet]:
    """Return a set of conversations cut after their first turns, with the questions that these answer.

    Other sets have no beginnings, and neither have conversations that are as short.
    """
    if data.documents[0].kind != "message":
        return []
    scopes: dict[str | None, list[Document]] = {}
    for document in data.documents:
        scopes.setdefault(document.scope, []).append(document)
    cut = []
    for turns in (turns for turns in _SHORT if turns < min(map(len, scopes.values()))):
        documents = tuple(document for all_turns in scopes.values() for document in all_turns[:turns])
        ids = {document.id for document in documents}
        questions = tuple(question for question in data.questions if question.gold <= ids)
        if questions:
            cut.append(EvaluationSet(name=f"{data.name}, {turns} turns", documents=documents, questions=questions))
    return cut


_FACTS = {
    "home": "The user's name is Priya and she lives in Leeds.",
    "drink": "Priya prefers tea over coffee, especially Assam.",
    "dog": "Her dog is called Biscuit, a seven year old beagle.",
    "allergy": "She is allergic to penicillin.",
    "wedding": "Priya's brother Arjun gets married on 14 June in Jaipur.",
    "car": "She drives an electric Kia Niro.",
    "work": "Priya works as a paediatric nurse on night shifts.",
    "author": "Her favourite author is Ursula Le Guin.",
    "race": "She is training for the Leeds half marathon.",
    "rent": "The rent is due on the third of each month.",
}
_QUESTIONS = (
    ("what is my dog called?", "dog"),
    ("when is my brother's wedding?", "wedding"),
    ("what do I like to drink in the morning?", "drink"),
    ("any allergies I should tell the dentist?", "allergy"),
    ("what car do I have?", "car"),
    ("where do I live?", "home"),
    ("what is my job?", "work"),
    ("which books might I enjoy?", "author"),
    ("what sport event am I preparing for?", "race"),
    ("when do I have to pay my landlord?", "rent"),
    ("recommend me a novel", "author"),
    ("which medicine must I avoid?", "allergy"),
    ("plan my running week", "race"),
    ("which breed is my pet?", "dog"),
)

#: A small store, where the true answer often shares few words with the question.
TEN_FACTS = EvaluationSet(
    name="ten facts",
    documents=tuple(Document(id=name, content=content) for name, content in _FACTS.items()),
    questions=tuple(
        EvaluationQuestion(id=f"{number}", text=text, gold=frozenset({name}))
        for number, (text, name) in enumerate(_QUESTIONS)
    ),
)
