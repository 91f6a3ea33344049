"""Another process with the same store: one command per line of input, one JSON line per answer."""

from __future__ import annotations

import json
import sys
from contextlib import ExitStack
from typing import Any

import memotherm
from memotherm import Memotherm, MemothermError
from memotherm.testing import HashEmbedder


class Obedient:
    """Does what it is told."""

    mem: Memotherm

    def __init__(self) -> None:
        self.held = ExitStack()

    def open(self, path: str, options: str = "{}") -> str:
        self.mem = memotherm.open(path, embedder=HashEmbedder(), settings=json.loads(options))
        return "opened"

    def remember(self, text: str) -> str:
        return self.mem.remember(text).id

    def forget(self, memory_id: str) -> str:
        return str(self.mem.forget(memory_id).retention)

    def purge(self, memory_id: str) -> str:
        self.mem.purge(memory_id)
        return "purged"

    def move(self, memory_id: str, tier: str) -> str:
        return str(self.mem.move(memory_id, tier).tier)

    def get(self, memory_id: str) -> str:
        return self.mem.get(memory_id).content

    def recall(self, query: str, tiers: str = "hot+warm") -> list[str]:
        return [hit.memory.id for hit in self.mem.recall(query, tiers=tiers.split("+"), limit=20)]

    def status(self) -> int:
        return self.mem.status().seq

    def hold(self) -> str:
        self.held.enter_context(self.mem._services.store._exclusive())
        return "held"

    def release(self) -> str:
        self.held.close()
        return "released"

    def write_many(self, name: str, count: str) -> list[str]:
        ids = []
        for number in range(int(count)):
            memory = self.mem.remember(f"{name} wrote sentence {number}", tier=("hot", "warm", "cold")[number % 3])
            ids.append(memory.id)
            if number % 4 == 1:
                self.mem.move(ids[number // 2], "cold")
            if number % 4 == 3:
                self.mem.update(ids[number // 2], content=f"{name} rewrote sentence {number // 2} as {number}")
        return ids

    def write_key(self, name: str, count: str) -> list[str]:
        """Remember the same key again and again."""
        return [self.mem.remember(f"{name} said {number}", key="shared").id for number in range(int(count))]

    def read_many(self, count: str) -> int:
        """Ask again and again; what was visible once stays visible."""
        seen = 0
        for _ in range(int(count)):
            self.mem.recall("who wrote which sentence")
            now = self.mem.status().seq
            assert now >= seen, "the ledger went back"
            seen = now
        return seen

    def close(self) -> str:
        self.mem.close()
        return "closed"


def serve() -> None:
    obedient = Obedient()
    print(json.dumps("ready"), flush=True)  # noqa: T201 - the answer channel
    for line in sys.stdin:
        verb, *arguments = line.rstrip("\n").split("\t")
        answer: Any
        try:
            answer = getattr(obedient, verb)(*arguments)
        except MemothermError as exc:
            answer = {"error": type(exc).__name__, "says": str(exc)}
        print(json.dumps(answer), flush=True)  # noqa: T201


if __name__ == "__main__":
    serve()
