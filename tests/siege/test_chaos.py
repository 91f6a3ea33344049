"""A server of two processes whose database connections are cut and whose processes are killed during requests.

What `make torture` has already is not repeated: a full disk, a killed writer, a killed PostgreSQL server.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from http.client import HTTPException
from pathlib import Path

import psycopg
import pytest

from tests.helpers import opened, together
from tests.interfaces.served import Served, served
from tests.interfaces.test_workers import _serves, workers
from tests.postgres import admin_of
from tests.siege.limits import LONG, SECONDS
from tests.stores import a_store

pytestmark = [LONG, pytest.mark.skipif(sys.platform != "linux", reason="it looks for processes in /proc")]
_CLIENTS = 3
#: How long a client tries to have one memory stored.
_PATIENCE = 60


class Client:
    """Stores one memory after the other, and sends a request again until it is answered."""

    def __init__(self, server: Served, name: str) -> None:
        self._server, self._name = server, name
        self.stored: dict[str, str] = {}
        self.again = 0
        self.slowest = 0.0

    def run(self, enough: threading.Event) -> None:
        """Go on until it is enough."""
        while not enough.is_set():
            content, started = f"{self._name} number {len(self.stored)}", time.monotonic()
            self.stored[self._sent(content)] = content
            self.slowest = max(self.slowest, time.monotonic() - started)

    def _sent(self, content: str) -> str:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            with suppress(OSError, HTTPException):  # the process that had the request was killed
                headers = {"idempotency-key": content.replace(" ", "-")}
                status, told = self._server.ask("POST", "/memories", {"content": content}, headers)
                if status == 201:
                    return str(told["id"])
                assert status in (409, 503), (status, told)  # the first one still runs, or the store is away
            self.again += 1
            time.sleep(0.05)
        raise AssertionError(f"{content!r} was not stored in {_PATIENCE} seconds")


def test_killed_processes_and_cut_connections(
    tmp_path: Path, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    """Every acknowledged memory is stored once, whatever was sent again; no answer is a 500."""
    path, dice, enough = tmp_path / "memory.db", random.Random(37), threading.Event()
    kills = cuts = 0
    with ExitStack() as stack:
        place = stack.enter_context(a_store())
        url = None if place == ":memory:" else str(place)
        server = stack.enter_context(
            served(path, store=url, options=["--workers", "2"], MEMOTHERM_SERVER_RATE_PER_MINUTE="0")
        )
        clients = [Client(server, f"client {number}") for number in range(_CLIENTS)]

        def disturb() -> None:
            nonlocal kills, cuts
            until = time.monotonic() + max(SECONDS, 2)
            try:
                while time.monotonic() < until:
                    time.sleep(dice.uniform(0.1, 0.6))
                    if url is not None and dice.random() < 0.7:
                        cuts += _cut(admin_of(url, request.getfixturevalue("postgres")))
                    elif len(found := workers(server)) == 2 and all(map(_serves, found)):
                        os.kill(dice.choice(found), signal.SIGKILL)
                        kills += 1
            finally:
                enough.set()

        if url is not None:
            request.getfixturevalue("postgres")
        together(disturb, *[lambda client=client: client.run(enough) for client in clients])
        assert server.end() == 0, "".join(server.log)
        written = {key: value for client in clients for key, value in client.stored.items()}
        with opened(url or path) as mem:
            found = list(mem.find(limit=1000))
            page = mem.find(limit=1000)
            while page.cursor is not None:
                page = mem.find(limit=1000, cursor=page.cursor)
                found += page
            stored = {memory.id: memory.content for memory in found}
            assert mem.check() == []
    record_property("tries", kills + cuts)
    again, slowest = sum(client.again for client in clients), max(client.slowest for client in clients)
    record_property(
        "worst", f"{kills} kills, {cuts} cut connections, {again} of {len(written):,} requests repeated, "
                 f"the slowest stored after {slowest:.1f} s")  # fmt: skip
    assert stored == written


def _cut(admin: str) -> int:
    with psycopg.connect(admin, autocommit=True) as connection:
        cut = connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'memotherm'"
        ).fetchall()
    return len(cut)
