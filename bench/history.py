"""`python -m bench.history --data DIR`: what 20,000 turns of unrelated history do to recall and contexts.

Each set is asked twice: alone, and with turns of other people's conversations in the same scope, stored as a backfill
stores them, spread over the days before the newest document. For each, the table has the silence for prompts that no
memory answers, the gold documents in contexts of 2,000 tokens, the share of the contexts' tokens that is gold, and
the nDCG of recall.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from statistics import mean
from typing import Any

from bench.controls import cached
from bench.datasets import EvaluationSet, SilentPrompt, load, load_prompts
from bench.quality import SetClock, latest, measured, remember_documents, view_of
from bench.silence import TEN_FACTS
from memotherm import Memotherm, embed
from memotherm import open as open_memory
from memotherm.history.places import Places
from memotherm.history.reader import Reader
from memotherm.history.reading import Found, TranscriptReader, statements_of
from memotherm.history.records import Reading, Record, Transcript
from memotherm.text.phrases import sentences

#: The documents that each memory holds, by its id.
Names = Mapping[str, Sequence[str]]
_BUDGET = 2000
_GROUP = 500
#: Shorter lines of notes are headings.
_SHORTEST = 30


class Conversations(Reader):
    """Lines of conversations as the prompts of sessions of ten turns, spread over some days."""

    name = "conversations"
    verified = ""

    def __init__(self, lines: list[str], until: datetime, days: float) -> None:
        self._lines = lines
        self._until = until
        self._step = timedelta(days=days) / len(lines)

    def transcripts(self, root: Path) -> Iterator[Transcript]:
        """List the sessions."""
        yield Transcript(self.name, root, "all", len(self._lines), "")

    def _records(self, transcript: Transcript, reading: Reading) -> Iterator[Record]:  # noqa: ARG002
        """Yield the prompts, oldest first."""
        first = self._until - self._step * len(self._lines) - timedelta(hours=2)
        for number, line in enumerate(self._lines):
            reading.known += 1
            session, time = f"s{number // 10}", first + number * self._step
            yield Record(f"r{number}", session, "", time, "user", line, "", "")


def add_history(mem: Memotherm, scope: str | None, source: Conversations, now: datetime) -> int:
    """Store conversations in a scope as a backfill does, and make their vectors; return how many were stored."""
    reader = TranscriptReader(mem.settings, Places(mem.settings), now, captured={})
    list(reader.add(source, source.transcripts(Path()), Found(source.name, "")))
    place = {"project": scope} if scope else {}
    # Neither recall nor a context looks at the vectors of cold memories.
    turns, stored = reader.turns.oldest_first(), 0
    while group := [turn for turn, _ in islice(turns, _GROUP)]:
        said = statements_of([(turn.prompt, turn.answer, turn.words) for turn in group], mem.settings.tokenizer)
        entries = [
            {**entry, "scope": place | _agent(entry), "index": entry["tier"] != "cold"}
            for turn, contents in zip(group, said.contents, strict=True)
            if not isinstance(contents, str)
            for entry in reader.entries(turn, contents)
        ]
        stored += mem.by("person").store.add_history(entries, "history", now, None, said.claims).count("stored")
    mem.store.reembed()
    return stored


def _agent(entry: Mapping[str, Any]) -> dict[str, str]:
    return {"agent": entry["scope"]["agent"]} if "agent" in entry["scope"] else {}


def asked(
    mem: Memotherm, clock: SetClock, data: EvaluationSet, prompts: list[SilentPrompt], names: Names
) -> dict[str, float]:
    """Return the measures of a set."""
    floor = mem.settings.context_min_confidence
    silent, gold, share, gain = list[float](), list[float](), list[float](), list[float]()
    for question in data.questions:
        clock.now = question.at or latest(data, question.scope)
        view = view_of(mem, question.scope)
        context = view.context(question.text, _BUDGET, track=False)
        included = {document for entry in context.included for document in names.get(entry.id, ())}
        gold.append(len(question.gold & included) / len(question.gold))
        if tokens := sum(entry.tokens for entry in context.included):
            own = (entry.tokens for entry in context.included if question.gold.intersection(names.get(entry.id, ())))
            share.append(sum(own) / tokens)
        hits = view.recall(question.text, limit=50, track=False)
        ranked = [document for hit in hits for document in names.get(hit.memory.id, (hit.memory.id,))]
        gain.append(measured(ranked, question.gold)["nDCG@10"])
    for prompt in prompts:
        context = view_of(mem, data.questions[0].scope).context(prompt.text, _BUDGET, track=False)
        silent.append((context.confidence or 0.0) < floor)
    values: dict[str, list[float]] = {"silent": silent, "gold": gold, "gold per token": share, "nDCG@10": gain}
    return {name: round(100 * mean(each), 2) for name, each in values.items()}


def _lines(folder: Path, about: str) -> Iterator[str]:
    """Yield distinct lines about software, from notes of agents, or about life, from conversations."""
    name, column = {"software": ("agent_notes/corpus", "body"), "life": ("longmemeval/sessions", "text")}[about]
    with gzip.open(folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
        texts = (line.strip("#*-> \n") for row in file for line in sentences(json.loads(row)[column]))
        yield from dict.fromkeys(line for line in texts if len(line) > _SHORTEST)


def main() -> None:
    """Print both rows of each set."""
    parser = argparse.ArgumentParser(prog="python -m bench.history", description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("MEMOTHERM_DATA"), help="the evaluation sets")
    parser.add_argument("--set", dest="sets", action="append", default=[], help="only sets that begin with this")
    parser.add_argument("--turns", type=int, default=20_000)
    parser.add_argument("--days", type=float, default=365, help="over how many days the turns are spread")
    parser.add_argument("--questions", type=int, default=200, help="the most questions of a set")
    parser.add_argument("--cache", type=Path, help="cache vectors in this folder (also MEMOTHERM_VECTORS)")
    options = parser.parse_args()
    prompts = load_prompts(options.data)
    sets = (TEN_FACTS, *load(options.data))
    histories = {about: list(islice(_lines(options.data, about), options.turns)) for about in ("software", "life")}
    for data in sets:
        if options.sets and not data.name.startswith(tuple(options.sets)):
            continue
        # One scope, as a project has one.
        scope = data.questions[0].scope
        documents = tuple(document for document in data.documents if document.scope == scope)
        questions = tuple(question for question in data.questions if question.scope == scope)[: options.questions]
        one = EvaluationSet(name=data.name, documents=documents, questions=questions)
        # The history is about something else than the set.
        lines = histories["life" if data.name.startswith("agent_notes") else "software"]
        # A history about software may answer a command.
        own = [prompt for prompt in prompts if prompt.type != "command"]
        clock, model = SetClock(), cached(embed.resolve("local"), options.cache)
        with tempfile.TemporaryDirectory() as folder, open_memory(
            Path(folder) / "history.db", embedder=model, clock=clock
        ) as mem:  # fmt: skip
            names = dict(remember_documents(mem, clock, one, lambda *_: None))
            before = asked(mem, clock, one, own, names)
            print(f"{data.name} ({len(questions)} questions): {before}", flush=True)
            clock.now = latest(one, scope)
            stored = add_history(mem, scope, Conversations(lines, clock.now, options.days), clock.now)
            after = asked(mem, clock, one, own, names)
            print(f"  with {stored:,} turns: {after}", flush=True)
            print(f"  difference: { {name: round(after[name] - before[name], 2) for name in after} }", flush=True)


if __name__ == "__main__":
    main()
