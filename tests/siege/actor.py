"""A process whose threads use a store beside others, each checked against the model of the verbs.

Every thread has a tenant of its own, so that the model knows what it must see, and all of them change the memories of
the tenant `shared`. When the time is over, one JSON line says how many operations there were, what did not hold, and
which contents were given to shared memories.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import replace
from typing import Any

import memotherm
from memotherm import Memory, Memotherm, Priority, Retention, Scope, Settings, Tier
from memotherm.errors import MemothermError
from memotherm.testing import FakeClock, HashEmbedder
from tests.properties.model import LIMITED, Item, Model, Wish
from tests.properties.test_verbs import _CONTENTS, _POOL, Verbs

#: How many memories a thread has before it starts again with another tenant.
_MOST_ITEMS = 60


class Actor(Verbs):
    """A thread, the model of its tenant, and what it has found."""

    def __init__(self, mem: Memotherm, clock: FakeClock, name: str) -> None:
        super().__init__()
        self.mem, self.clock, self.dice = mem, clock, random.Random(name)
        self.name, self.operations, self.tenants = name, 0, 0
        self.faults: list[str] = []
        #: Contents that a shared memory had when the call returned.
        self.given: list[str] = []
        self.begin()

    def begin(self) -> None:
        """Start with an empty tenant."""
        self.tenants += 1
        own = Scope(tenant=f"{self.name}-{self.tenants}")
        self.model = Model(reject=False)
        self.scopes = (own, own.narrowed(project="apollo"), own.narrowed(project="apollo", user="ann"))

    def run(self, until: float) -> None:
        """Use the store until the end; the first thing that does not hold ends it."""
        try:
            while time.monotonic() < until:
                self.step()
                self.operations += 1
                if len(self.model.items) >= _MOST_ITEMS:
                    self.compare()
                    self.begin()
            self.compare()
        except Exception:  # noqa: BLE001 - reported
            self.faults.append(traceback.format_exc(limit=-4))

    def step(self) -> None:
        """Do one thing."""
        pick, scope, items = self.dice.choice, self.dice.choice(self.scopes), self.model.items
        if not items or self.dice.random() < 0.25:
            some = [self.wish() for _ in range(pick((1, 1, 1, 3)))]
            self.remember_many(scope, some, one=len(some) == 1)
            return
        item = pick(items)
        pick(
            (
                lambda: self.update(scope, item, pick((None, *_CONTENTS)), pick((None, ("red",))), pick((None, 30))),
                lambda: self.move(scope, item, pick(tuple(Tier))),
                lambda: self.prioritize(scope, item, pick(tuple(Priority))),
                lambda: self.pin(scope, item),
                lambda: self.unpin(scope, item),
                lambda: self.retain(scope, item, pick(("archive", "forget", "restore"))),
                lambda: self.purge(scope, item),
                lambda: self.undo(scope, item, self.dice.randrange(1000)),
                lambda: self.recall(scope, pick(_CONTENTS), list(Tier), pick((True, False))),
                lambda: self.find(scope, pick((None, *Tier)), pick(tuple(Retention)), 5),
                lambda: self.get(scope, item),
                lambda: self.history(scope, item),
                lambda: self.status(scope),
                self.share,
                self.share,
            )
        )()

    def wish(self) -> Wish:
        """Return the arguments of a `remember`."""
        pick = self.dice.choice
        return Wish(
            pick(_CONTENTS), pick(("fact", "task")), pick(((), ("red",))), pick((None, *Tier)),
            pick((Priority.NORMAL, *Priority)), pick((None, 30, 200)),
        )  # fmt: skip

    def share(self) -> None:
        """Change a memory that everybody changes."""
        view, pick = self.mem.scoped(tenant="shared"), self.dice.choice
        memory = pick(tuple(view.find(retention="any")))
        content = f"{self.name} {self.operations}"
        with suppress(MemothermError):  # it was archived meanwhile, or changed by another one
            match pick(("update", "update", "move", "archive", "restore")):
                case "update":
                    view.update(memory.id, content=content)
                    self.given.append(content)
                case "move":
                    view.move(memory.id, pick(tuple(Tier)))
                case verb:
                    getattr(view, verb)(memory.id)

    def same(self, memory: Memory | None, item: Item) -> None:
        """Compare a memory with what the model knows of it, except its uses: they are counted later if others write."""
        try:
            super().same(memory and replace(memory, access_count=item.uses), item)
        except AssertionError as exc:
            raise AssertionError(f"{memory!r} is not {item!r}") from exc

    def compare(self) -> None:
        """Compare every memory of the tenant and its history with the model."""
        for item in self.model.items:
            self.same_history(item)
            if item.retention is not Retention.PURGED:
                self.same(self.view(item.scope).get(item.id), item)


def main(place: str, seconds: str, threads: str) -> None:
    """Let threads use the store at a place, and compare again when it was closed and opened."""
    clock = FakeClock()
    settings = Settings(
        max_pinned=LIMITED[Priority.PINNED], max_critical=LIMITED[Priority.CRITICAL],
        on_tier_limit="demote_oldest", pool_size=_POOL,
    )  # fmt: skip
    with memotherm.open(place, embedder=HashEmbedder(), clock=clock, settings=settings) as mem:
        actors = [Actor(mem, clock, f"p{os.getpid()}-{number}") for number in range(int(threads))]
        until = time.monotonic() + float(seconds)
        running = [threading.Thread(target=actor.run, args=(until,)) for actor in actors]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
    with memotherm.open(place, embedder=HashEmbedder(), clock=clock, settings=settings) as mem:
        for actor in actors:
            actor.mem = mem
            actor.run(0)
    told: dict[str, Any] = {
        "operations": sum(actor.operations for actor in actors),
        "faults": [fault for actor in actors for fault in actor.faults],
        "given": [content for actor in actors for content in actor.given],
    }
    print(json.dumps(told), flush=True)  # noqa: T201 - the answer channel


if __name__ == "__main__":
    main(*sys.argv[1:])
