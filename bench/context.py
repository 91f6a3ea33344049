"""The share of the evidence for a question that is in its context, by budget.

Two controls have the same memories and the same budget, and no tokens for a frame, ids or headings: the
hits of `recall`, concatenated until the budget is used, and the newest memories, concatenated until it is
used. A memory that is truncated at the end of the budget counts as included.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from statistics import mean

from bench.report import Row
from bench.speed import Options
from bench.stores import Lab
from memotherm import Memory, Memotherm
from memotherm import open as open_memory
from memotherm.evaluation.datasets import EvaluationQuestion, EvaluationSet, load
from memotherm.testing import FakeClock
from memotherm.text.tokens import count_tokens

__all__ = ["BUDGETS", "measure"]

BUDGETS = (100, 200, 400, 800, 1600, 3200)
_SETS = ("locomo", "agent_notes", "longmemeval")
_HITS = 100
_BATCH = 64

Share = dict[str, list[float]]


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return, for every set and budget, the share of gold documents in the context and in both controls."""
    folder = os.environ.get("MEMOTHERM_DATA")
    if not folder:
        lab.progress.console.print("context: no evaluation data; pass --data DIR or set MEMOTHERM_DATA")
        return []
    sets = [data for data in load(Path(folder)) if data.name.startswith(_SETS)]
    # Questions about the same documents share a store.
    groups = [list(group) for _, group in groupby(sets, key=lambda data: data.documents)]
    return [row for number, group in enumerate(groups) for row in _measured(group, lab, options, number)]


def _measured(sets: Sequence[EvaluationSet], lab: Lab, options: Options, number: int) -> Iterable[Row]:
    clock = FakeClock()
    path = lab.folder / f"context-{number}.db"
    path.unlink(missing_ok=True)
    with open_memory(path, clock=clock) as mem:
        names, newest = _remembered(mem, clock, sets[0], lab)
        for data in sets:
            questions = data.questions[:20] if options.quick else data.questions
            shares_by_budget: dict[int, Share] = {budget: defaultdict(list) for budget in BUDGETS}
            task = lab.progress.add_task(f"asking {data.name}", total=len(questions))
            for question in questions:
                view = mem if question.scope is None else mem.scoped(project=question.scope)
                clock.now = question.at or clock.now
                _ask(view, question, names, newest[question.scope], shares_by_budget)
                lab.progress.advance(task)
            yield from _rows(data.name, len(questions), shares_by_budget)


def _rows(name: str, asked: int, shares_by_budget: dict[int, Share]) -> Iterable[Row]:
    for budget in BUDGETS:
        shares = {method: round(mean(values), 4) for method, values in shares_by_budget[budget].items()}
        ours, controls = shares["context"], {method: shares[method] for method in ("hits", "newest")}
        yield Row(
            key=f"{name}/{budget}",
            what=f"gold in the context, {name}, {budget} tokens (N={asked})",
            value=ours,
            unit="",
            target=max(controls.values()),
            rising=True,
            notes={**controls, "whole": shares["whole"], "tokens": shares["tokens"]},
        )


def _remembered(
    mem: Memotherm, clock: FakeClock, data: EvaluationSet, lab: Lab
) -> tuple[dict[str, set[str]], dict[str | None, list[Memory]]]:
    """Store the documents; return the document ids of each memory, and the memories of each scope, newest first."""
    names: dict[str, set[str]] = defaultdict(set)
    newest: dict[str | None, list[Memory]] = defaultdict(list)
    task = lab.progress.add_task(f"remembering {data.name}", total=len(data.documents))
    for (scope, at), group in groupby(data.documents, key=lambda document: (document.scope, document.at)):
        clock.now = at or clock.now
        view = mem if scope is None else mem.scoped(project=scope)
        documents = list(group)
        for start in range(0, len(documents), _BATCH):
            batch = documents[start : start + _BATCH]
            stored = view.remember_many([{"content": document.content, "kind": document.kind} for document in batch])
            for document, memory in zip(batch, stored, strict=True):
                names[memory.id].add(document.id)
                newest[scope].insert(0, memory)
            lab.progress.advance(task, len(batch))
    return names, newest


def _ask(
    view: Memotherm,
    question: EvaluationQuestion,
    names: dict[str, set[str]],
    newest: Sequence[Memory],
    shares_by_budget: dict[int, Share],
) -> None:
    hits = [hit.memory for hit in view.recall(question.text, limit=_HITS, track=False)]
    for budget in BUDGETS:
        context = view.context(question.text, budget=budget, track=False)
        whole = [entry.memory for entry in context.included if entry.form == "full"]
        methods = {
            "context": [entry.memory for entry in context.included],
            "whole": whole,
            "hits": _concatenated(hits, budget),
            "newest": _concatenated(newest, budget),
        }
        for name, memories in methods.items():
            inside = {document for memory in memories for document in names[memory.id]}
            shares_by_budget[budget][name].append(len(question.gold & inside) / len(question.gold))
        shares_by_budget[budget]["tokens"].append(context.tokens)


def _concatenated(memories: Iterable[Memory], budget: int) -> list[Memory]:
    """Return the memories of a plain list of contents that is truncated at the budget."""
    inside: list[Memory] = []
    for memory in memories:
        if budget <= 0:
            break
        inside.append(memory)
        budget -= count_tokens(f"- {memory.content}\n")
    return inside
