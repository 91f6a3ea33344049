"""A server of several processes: whichever answers, the answer is the same."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.interfaces.served import Served, served
from tests.postgres import Cluster, empty_database

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
    """Return the processes of a server that answer, the longest running first."""
    parent = server.process.pid
    try:
        children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        # Beside them runs the resource tracker of multiprocessing.
        return [int(child) for child in children if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes()]
    except (FileNotFoundError, ProcessLookupError):
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


@pytest.mark.slow
def test_the_metrics_are_those_of_all_processes(server: Served):
    """A scrape that one process answers has the requests of the other one."""
    with only(server, 0) as client:
        client.get("/memories/mem_00000000000000000000000000")
        client.get("/health")  # which is answered when the request before it has been counted
    with only(server, 1) as client:
        lines = client.get("/metrics").text.splitlines()

    counted = [line for line in lines if line.startswith("memotherm_http_requests_total") and 'status="404"' in line]
    assert sum(float(line.rsplit(" ", 1)[1]) for line in counted if "/memories/" in line) == 1


@pytest.mark.slow
def test_each_process_allows_its_part_of_the_rate_limit(server: Served):
    """Together they allow as many requests as the setting says."""
    allowed = []
    for index in range(2):
        with only(server, index) as client:
            started = time.monotonic()
            codes = iter(lambda: client.get("/status").status_code, 429)
            allowed.append(len(list(codes)))
            refilled = (time.monotonic() - started) * RATE / 2 / 60

        assert allowed[-1] <= RATE / 2 + refilled + 1
    # The other tests have used some of them.
    assert min(allowed) > 0


@pytest.mark.slow
def test_a_process_that_was_killed_is_started_again(server: Served):
    """The other one answers meanwhile."""
    first, second = workers(server)
    os.kill(first, signal.SIGKILL)
    assert httpx.get(f"{server.url}/health", timeout=60).status_code == 200
    while len(now := workers(server)) < 2 or first in now:
        pass

    assert second in now


@pytest.mark.slow
def test_a_process_that_is_started_again_waits_for_the_database(tmp_path: Path):
    """A database that cannot be reached then does not end the server, which can be stopped meanwhile."""

    def killed(server: Served, times: int) -> None:
        os.kill(workers(server)[0], signal.SIGKILL)
        while sum("cannot reach" in line and "a process of the server" in line for line in server.log) < times:
            assert server.process.poll() is None, "".join(server.log)
            time.sleep(0.1)

    with (
        Cluster.started() as cluster,
        empty_database(cluster.url("postgres", "postgres"), drop=False) as url,
        served(tmp_path / "unused", store=url, options=["--workers", "2"]) as server,
    ):
        while len(found := workers(server)) < 2 or not all(map(_serves, found)):
            assert server.process.poll() is None
        status, stored = server.ask("POST", "/memories", {"content": "we use PostgreSQL"})
        assert status == 201
        cluster.stop()
        killed(server, 2)
        cluster.start()
        with only(server, 1) as client:
            assert client.get(f"/memories/{stored['id']}").status_code == 200
        cluster.stop()
        killed(server, 3)

        assert server.end() == 0
