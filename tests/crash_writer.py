"""A process that forks writers, one per line of its input, so that the test can kill them.

Each line is `<mode> <seed> <path>`. A writer prints "B <pid>" when it begins, an intent before each
verb and an acknowledgement after it; when it is gone, "D" follows. Lines are shorter than a pipe's
atomic write, so a killed writer leaves no half of one.
"""

from __future__ import annotations

import json
import os
import random
import sys
import traceback
from typing import Any

import memotherm
from memotherm import Memory, Memotherm
from memotherm.testing import HashEmbedder

OPTIONS = {"max_pinned": 1_000_000, "max_critical": 1_000_000}
WORDS = ["river", "stone", "lantern", "harbour", "signal", "copper", "meadow", "orbit", "velvet", "thunder", "maple"]


def state(memory: Memory) -> dict[str, Any]:
    """Return what a memory must still be after a crash."""
    return {
        "id": memory.id,
        "version": memory.version,
        "content": memory.content,
        "tags": list(memory.tags),
        "tier": str(memory.tier),
        "priority": str(memory.priority),
        "retention": str(memory.retention),
    }


def say(kind: str, value: object = "") -> None:
    os.write(1, f"{kind} {json.dumps(value)}\n".encode())


class Writer:
    """Performs random verbs and says what it does."""

    def __init__(self, mem: Memotherm, chance: random.Random) -> None:
        self.mem = mem
        self.chance = chance
        self.active = [memory.id for memory in mem.find(limit=300)]
        self.hidden = [memory.id for memory in mem.find(limit=300, retention="deleted")]

    def text(self) -> str:
        return " ".join(self.chance.choices(WORDS, k=6)) + f" {self.chance.getrandbits(64):x}"

    def step(self) -> None:
        verbs = ["remember", "remember_many", "recall"]
        verbs += ["update", "move", "pin", "forget", "purge"] * bool(self.active) + ["restore"] * bool(self.hidden)
        getattr(self, self.chance.choice(verbs))()

    def changed(self, verb: str, ids: list[str], *arguments: Any, expect: dict[str, Any], **named: Any) -> str:
        memory_id = self.chance.choice(ids)
        say("I", {"verb": verb, "id": memory_id, "expect": expect})
        done = getattr(self.mem, verb)(memory_id, *arguments, **named)
        say("A", [state(done) if done is not None else {"id": memory_id, **expect}])
        return memory_id

    def remember(self) -> None:
        text, tier = self.text(), self.chance.choice(("hot", "warm", "cold"))
        say("I", {"verb": "remember", "contents": [text]})
        done = self.mem.remember(text, tier=tier, tags=["one"])
        say("A", [state(done)])
        self.active.append(done.id)

    def remember_many(self) -> None:
        texts = [self.text() for _ in range(5)]
        say("I", {"verb": "remember_many", "contents": texts})
        done = self.mem.remember_many([{"content": text, "tags": ["many"]} for text in texts])
        say("A", [state(memory) for memory in done])
        self.active += [memory.id for memory in done]

    def recall(self) -> None:
        self.mem.recall(self.text(), promote=False)

    def update(self) -> None:
        text = self.text()
        self.changed("update", self.active, content=text, tags=["new"], expect={"content": text, "tags": ["new"]})

    def move(self) -> None:
        tier = self.chance.choice(("hot", "warm", "cold"))
        self.changed("move", self.active, tier, expect={"tier": tier})

    def pin(self) -> None:
        self.changed("pin", self.active, expect={"priority": "pinned"})

    def forget(self) -> None:
        memory_id = self.changed("forget", self.active, expect={"retention": "deleted"})
        self.active.remove(memory_id)
        self.hidden.append(memory_id)

    def restore(self) -> None:
        memory_id = self.changed("restore", self.hidden, expect={"retention": "active"})
        self.hidden.remove(memory_id)
        self.active.append(memory_id)

    def purge(self) -> None:
        gone = {"retention": "purged", "content": "", "tags": []}
        self.active.remove(self.changed("purge", self.active, expect=gone))


def write(path: str, seed: int) -> None:
    """Write until killed."""
    with memotherm.open(path, embedder=HashEmbedder(), settings=OPTIONS) as mem:
        writer = Writer(mem, random.Random(seed))
        while True:
            writer.step()


def reembed(path: str, seed: int) -> None:
    """Change the embedder back and forth until killed."""
    while True:
        seed += 1
        with memotherm.open(path, embedder=HashEmbedder(name=f"words-{seed % 3}"), settings=OPTIONS) as mem:
            mem.store.reembed()
            say("A", mem.status().embedder)


def serve() -> None:
    modes = {"write": write, "reembed": reembed}
    with memotherm.open(":memory:", embedder=HashEmbedder()) as mem:  # everything is imported before the first fork
        mem.remember("warm up")
        mem.recall("warm up")
    for line in sys.stdin:
        mode, seed, path = line.rstrip("\n").split(" ", 2)
        pid = os.fork()
        if pid == 0:
            say("B", os.getpid())
            try:
                modes[mode](path, int(seed))
            except BaseException:  # noqa: BLE001 - the test reads it; a forked copy must end here in any case
                say("E", traceback.format_exc()[-2000:])
            finally:
                os._exit(1)
        _, status = os.waitpid(pid, 0)
        say("D", os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    serve()
