"""How much of the evidence for a question stands in its context, at which budget.

Two controls get the same memories and the same count of tokens, and pay nothing for a frame, ids or
headings: the hits of `recall` pasted until the budget is full, and the newest memories pasted until it
is full. What does not fit whole is cut where the budget ends, and counts as there all the same.
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

BUDGETS = (200, 400, 800, 1600, 3200)
_SETS = ("locomo", "agent_notes")
_HITS = 100
_BATCH = 64

Share = dict[str, list[float]]


def measure(lab: Lab, options: Options) -> list[Row]:
    """Return, for every set and budget, the share of gold inside, and whether both controls are met."""
    folder = os.environ.get("MEMOTHERM_DATA")
    if not folder:
        lab.progress.console.print("context: no evaluation data; pass --data DIR or set MEMOTHERM_DATA")
        return []
    sets = [each for each in load(Path(folder)) if each.name.startswith(_SETS)]
    # Questions about the same documents share a store.
    groups = [list(group) for _, group in groupby(sets, key=lambda each: each.documents)]
    return [row for number, group in enumerate(groups) for row in _measured(group, lab, options, number)]


def _measured(sets: Sequence[EvaluationSet], lab: Lab, options: Options, number: int) -> Iterable[Row]:
    clock = FakeClock()
    path = lab.folder / f"context-{number}.db"
    path.unlink(missing_ok=True)
    with open_memory(path, clock=clock) as mem:
        names, newest = _remembered(mem, clock, sets[0], lab)
        for data in sets:
            questions = data.questions[:20] if options.quick else data.questions
            found: dict[int, Share] = {budget: defaultdict(list) for budget in BUDGETS}
            task = lab.progress.add_task(f"asking {data.name}", total=len(questions))
            for question in questions:
                view = mem if question.scope is None else mem.scoped(project=question.scope)
                clock.now = question.at or clock.now
                _asked(view, question, names, newest[question.scope], found)
                lab.progress.advance(task)
            yield from _rows(data.name, len(questions), found)


def _rows(name: str, asked: int, found: dict[int, Share]) -> Iterable[Row]:
    for budget in BUDGETS:
        shares = {way: round(mean(values), 4) for way, values in found[budget].items()}
        ours, controls = shares["context"], {way: shares[way] for way in ("hits", "newest")}
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
    """Store the documents; return the documents behind each memory, and each scope's memories, newest first."""
    names: dict[str, set[str]] = defaultdict(set)
    newest: dict[str | None, list[Memory]] = defaultdict(list)
    task = lab.progress.add_task(f"remembering {data.name}", total=len(data.documents))
    for (scope, at), group in groupby(data.documents, key=lambda each: (each.scope, each.at)):
        clock.now = at or clock.now
        view = mem if scope is None else mem.scoped(project=scope)
        documents = list(group)
        for start in range(0, len(documents), _BATCH):
            batch = documents[start : start + _BATCH]
            stored = view.remember_many([{"content": each.content, "kind": each.kind} for each in batch])
            for document, memory in zip(batch, stored, strict=True):
                names[memory.id].add(document.id)
                newest[scope].insert(0, memory)
            lab.progress.advance(task, len(batch))
    return names, newest


def _asked(
    view: Memotherm,
    question: EvaluationQuestion,
    names: dict[str, set[str]],
    newest: Sequence[Memory],
    found: dict[int, Share],
) -> None:
    hits = [hit.memory for hit in view.recall(question.text, limit=_HITS, track=False)]
    for budget in BUDGETS:
        context = view.context(question.text, budget=budget, track=False)
        whole = [entry.memory for entry in context.included if entry.form == "full"]
        ways = {
            "context": [entry.memory for entry in context.included],
            "whole": whole,
            "hits": _pasted(hits, budget),
            "newest": _pasted(newest, budget),
        }
        for name, memories in ways.items():
            inside = {document for memory in memories for document in names[memory.id]}
            found[budget][name].append(len(question.gold & inside) / len(question.gold))
        found[budget]["tokens"].append(context.tokens)


def _pasted(memories: Iterable[Memory], budget: int) -> list[Memory]:
    """Return what is in a plain list of contents when it is cut at the budget."""
    inside: list[Memory] = []
    for memory in memories:
        if budget <= 0:
            break
        inside.append(memory)
        budget -= count_tokens(f"- {memory.content}\n")
    return inside
