"""A server of several processes: whichever answers, the answer is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from tests.interfaces.served import Served, environment, served

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks for processes in /proc")

#: The requests of a minute that the server allows.
RATE = 100


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("workers") / "memory.db"
    with served(path, options=["--workers", "2"], MEMOTHERM_SERVER_RATE_PER_MINUTE=str(RATE)) as running:
        while len(found := workers(running)) < 2 or not all(map(_serves, found)):
            assert running.process.poll() is None
        yield running
        found = workers(running)
        assert running.end() == 0
        assert not [process for process in found if Path(f"/proc/{process}").exists()]


def workers(server: Served) -> list[int]:
    """Return the processes of a server, the longest running first."""
    parent = server.process.pid
    try:
        return [int(child) for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
    except FileNotFoundError:
        return []


def _serves(process: int) -> bool:
    """Return whether a process waits for connections, and not for its imports."""
    try:
        return any("eventpoll" in str(file.readlink()) for file in Path(f"/proc/{process}/fd").iterdir())
    except FileNotFoundError:
        return False  # It has closed a file meanwhile.


@contextmanager
def only(server: Served, index: int) -> Iterator[httpx.Client]:
    """Let one of two processes answer, and stop the other one meanwhile."""
    other = workers(server)[1 - index]
    os.kill(other, signal.SIGSTOP)
    try:
        with httpx.Client(base_url=server.url, timeout=60) as client:
            yield client
    finally:
        os.kill(other, signal.SIGCONT)


def test_a_job_is_seen_and_cancelled_through_every_process(server: Served):
    """The process that did not start it knows its state, its result and its scope."""
    with only(server, 0) as client:
        client.post("/memories", json={"content": "we use SQLite"}).raise_for_status()
        client.post("/recall", json={"query": "SQLite"}).raise_for_status()
        address = client.post("/policy/replay", json={"policies": [{"name": "builtin"}]}).headers["location"]
        while (job := client.get(address).json())["state"] == "running":
            time.sleep(0.1)  # the other tests need requests of this minute, too
    with only(server, 1) as client:
        seen: dict[str, Any] = client.get(address).json()
        cancelled = client.delete(address)
        elsewhere = client.get(address, headers={"memotherm-scope": "user=ana"})

    assert job["state"] == "done"
    assert seen == job
    assert (cancelled.status_code, cancelled.json()["state"]) == (202, "done")
    assert elsewhere.status_code == 404


def test_the_metrics_are_those_of_all_processes(server: Served):
    """A scrape that one process answers has the requests of the other one."""
    with only(server, 0) as client:
        client.get("/memories/mem_00000000000000000000000000")
        client.get("/health")  # which is answered when the request before it has been counted
    with only(server, 1) as client:
        lines = client.get("/metrics").text.splitlines()

    counted = [line for line in lines if line.startswith("memotherm_http_requests_total") and 'status="404"' in line]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in counted if "/memories/" in line) == 1


def test_a_rate_limit_holds_for_all_processes_together(server: Served):
    """What one process has counted, the other one does not grant again."""
    with only(server, 0) as client:
        while client.get("/status").status_code != 429:
            pass
    with only(server, 1) as client:
        codes = [client.get("/status").status_code for _ in range(30)]

    assert 429 in codes


def test_requests_that_several_processes_count_at_once_are_all_counted(tmp_path: Path):
    """None overwrites what another one has counted meanwhile."""
    count = f"""if True:
        from pathlib import Path
        from memotherm.rest.middleware import TokenBuckets
        from memotherm.rest.shared_limits import SharedEntries

        limit = TokenBuckets(10_000, lambda: 0.0, SharedEntries(Path({str(tmp_path / "requests")!r})))
        print(sum(limit.take_if_left("address 127.0.0.1") == 0 for _ in range(8_000)))
    """
    known = environment(tmp_path / "home")
    running = [subprocess.Popen([sys.executable, "-c", count], stdout=subprocess.PIPE, env=known) for _ in range(2)]
    admitted = [int(process.communicate(timeout=60)[0]) for process in running]

    assert sum(admitted) == 10_000


def test_a_process_that_was_killed_is_started_again(server: Served):
    """The other one answers meanwhile."""
    first, second = workers(server)
    os.kill(first, signal.SIGKILL)
    assert httpx.get(f"{server.url}/health", timeout=60).status_code == 200
    while len(now := workers(server)) < 2 or first in now:
        pass

    assert second in now
