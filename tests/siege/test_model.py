"""Several processes with several threads against a model, on both stores."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from memotherm import Event
from memotherm.testing import FakeClock
from tests.helpers import opened, peers
from tests.siege.limits import SECONDS
from tests.stores import a_store

_THREADS = 2


def test_processes_and_threads_see_what_the_model_says(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Each thread in a tenant of its own; memories that all of them change have a ledger without a gap."""
    with a_store() as place:
        path = tmp_path / "memory.db" if place == ":memory:" else place
        with opened(path, clock=FakeClock()) as mem:
            shared = mem.scoped(tenant="shared")
            ids = [shared.remember(f"shared memory {number}").id for number in range(3)]
            with peers(2, "siege/actor.py", path, SECONDS, _THREADS) as processes:
                told = [json.loads(peer.line()) for peer in processes]
            given = [content for each in told for content in each["given"]]
            record_property("tries", sum(each["operations"] for each in told))
            record_property("worst", f"{len(given):,} updates of 3 shared memories")

            assert not any(each["faults"] for each in told), "\n".join(told[0]["faults"] + told[1]["faults"])
            histories = [shared.history(memory_id) for memory_id in ids]
            for number, events in enumerate(histories):
                memory = shared.get(ids[number])
                assert state_after(f"shared memory {number}", events) == (
                    memory.content,
                    str(memory.tier),
                    str(memory.retention),
                )
            written = [
                event.changes["content"][1] for events in histories for event in events if "content" in event.changes
            ]
            assert sorted(written) == sorted(given)
            assert mem.check() == []


def state_after(content: str, events: Sequence[Event]) -> tuple[str, ...]:
    """Return content, tier and retention after all events; each must begin where the one before it ended."""
    known: dict[str, Any] = {"content": content}
    for event in events:
        for name, (before, after) in event.changes.items():
            assert known.get(name, before) == before, event
            known[name] = after
    return tuple(known[name] for name in ("content", "tier", "retention"))
