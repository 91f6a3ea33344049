"""Units of work that are rolled back, calls that signals interrupt: nobody sees another's memory, nothing is lost."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm
from memotherm.testing import HashEmbedder
from tests.helpers import opened
from tests.interfaces.served import environment
from tests.siege.limits import SECONDS
from tests.stores import a_store

Property = Callable[[str, object], None]


class _RolledBack(Exception):
    """Ends a unit of work."""


class _User(threading.Thread):
    """Somebody whose units of work are rolled back half of the time, and who looks at their own memories only."""

    def __init__(self, mem: Memotherm, name: str, until: float) -> None:
        super().__init__(name=name)
        self._mem, self._until, self._dice = mem, until, random.Random(name)
        self.tries = 0
        self.kept: set[str] = set()
        self.faults: list[str] = []

    def run(self) -> None:
        """Work until the end, in a new scope each time."""
        while (self.tries == 0 or time.monotonic() < self._until) and not self.faults:
            self.tries += 1
            self._work(f"{self.name}-{self.tries}")

    def _work(self, user: str) -> None:
        view, text = self._mem.scoped(user=user), f"{user} keeps an otter"
        keeps = self._dice.random() < 0.5
        with suppress(_RolledBack), self._mem.store.key_value("siege").unit_of_work():
            made = view.remember(text)
            view.get(made.id)
            view.recall("otter")
            view.find()
            if not keeps:
                raise _RolledBack
        if keeps:
            self.kept.add(text)
        found = {memory.content for memory in view.find()} | {hit.memory.content for hit in view.recall("otter")}
        scopes = {memory.scope.user for memory in view.find()}
        if found != ({text} if keeps else set()) or scopes - {user}:
            self.faults.append(f"{user} sees {sorted(found)} of {scopes}")


def test_units_of_work_that_are_rolled_back(tmp_path: Path, record_property: Property) -> None:
    """Threads with new scopes at once; each sees exactly what it has committed."""
    with a_store() as place, opened(tmp_path / "memory.db" if place == ":memory:" else place) as mem:
        users = [_User(mem, f"u{number}", time.monotonic() + SECONDS) for number in range(4)]
        for user in users:
            user.start()
        for user in users:
            user.join()
        assert [fault for user in users for fault in user.faults] == []
        stored = {memory.content for memory in mem.find(limit=1000, include_narrower=True)}
        kept = {text for user in users for text in user.kept}
        assert stored <= kept
        assert len(stored) == min(1000, len(kept))
        assert mem.check() == []
        record_property("tries", sum(user.tries for user in users))


#: A process that uses a store and survives every SIGINT; it says what it has stored and what it found at the end.
_INTERRUPTED = """
import json, os, signal, sys, time
import memotherm
from memotherm.testing import HashEmbedder

place, seconds = sys.argv[1], float(sys.argv[2])
mem, stored, interrupts = memotherm.open(place, embedder=HashEmbedder()), [], 0
armed = False


def interrupt(*_):
    global armed
    if armed:
        armed = False
        raise KeyboardInterrupt


signal.signal(signal.SIGINT, interrupt)
print("ready", flush=True)
until = time.monotonic() + seconds
while time.monotonic() < until:
    try:
        armed = True
        text = f"otter {len(stored)} swims"
        mem.remember(text)
        stored.append(text)
        mem.recall("which otter swims?")
        mem.find(limit=20)
        mem.context("otter", budget=200)
    except KeyboardInterrupt:
        interrupts += 1
    armed = False
problems = [str(problem) for problem in mem.check()]
missing = len(set(stored) - {memory.content for memory in mem.find(limit=1000)}) if len(stored) <= 1000 else 0
child = os.fork()
if not child:
    status = 1
    try:
        with memotherm.open(place, embedder="none") as copy:
            status = 0 if copy.find(limit=1) else 2
    finally:
        os._exit(status)
forked = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps({"interrupts": interrupts, "problems": problems, "missing": missing, "forked": forked}), flush=True)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="it forks")
def test_calls_that_are_interrupted(tmp_path: Path, record_property: Property) -> None:
    """Real signals at random moments; then the store reads, checks and opens in a fork."""
    dice = random.Random(7)
    with a_store() as place:
        url = str(tmp_path / "memory.db") if place == ":memory:" else place
        with memotherm.open(url, embedder=HashEmbedder()) as mem:
            mem.remember("an otter")
        command = [sys.executable, "-c", _INTERRUPTED, url, str(SECONDS)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(tmp_path)) as process:
            assert process.stdout is not None
            lines: list[str] = []
            reader = threading.Thread(target=lambda: lines.extend(process.stdout or ()))
            reader.start()
            try:
                while not lines and process.poll() is None:
                    time.sleep(0.01)
                while len(lines) < 2 and process.poll() is None:
                    process.send_signal(signal.SIGINT)
                    time.sleep(dice.random() * 0.03)
                reader.join(120)
            finally:
                process.kill()
        told = json.loads(lines[-1])
        assert (told["problems"], told["missing"], told["forked"]) == ([], 0, 0), told
        record_property("tries", told["interrupts"])
