"""`python -m bench.load`: many clients against a real server, alone and while another process does maintenance.

Half of the requests write, the others recall, ask for a context, or read back what was written before. A write
counts as lost when the server has acknowledged it and it is not in the store afterwards as it was sent. The clients
ask without a pause, so that times are mostly waiting: 32 clients wait 32 times as long as the server needs for one
request. `cpu_ms` says what that is, and `cores` how much of the machine the server got.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.interfaces.served import environment, served

import memotherm
from bench import report
from bench.report import Row

_WORDS = """the staging database is called heron and answers on port while billing deploys every friday after review
    by our platform team so nobody should merge without asking anna first because latency of search grew when cache
    moved to another region last month users prefer short answers in german dark mode weekly report customer invoice
    password rotation happens before release train leaves paris office plants need water""".split()  # noqa: SIM905
_TIERS = ("hot", "warm", "warm", "cold", None)
_KINDS = ("write", "recall", "context", "read")
_SHARES = (0.5, 0.3, 0.1, 0.1)
_P95_MS = 1000


def sentence(source: random.Random, words: int = 16) -> str:
    """Return a new sequence of words that are in the vocabulary of the model."""
    return " ".join(source.choices(_WORDS, k=words)) + f", ticket {source.getrandbits(48)}"


@dataclass
class Seen:
    """The results of one client."""

    #: Kind of request -> its times in milliseconds.
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    errors: list[str] = field(default_factory=list)
    #: id -> content of every write that was acknowledged.
    written: dict[str, str] = field(default_factory=dict)


class Client:
    """A client with a connection of its own that sends one request after the other."""

    def __init__(self, number: int, address: str) -> None:
        self.seen = Seen()
        self._connection = http.client.HTTPConnection(address, timeout=60)
        self._random = random.Random(number)
        self._requests: dict[str, Callable[[], tuple[str, str, Any]]] = {
            "write": lambda: ("POST", "/memories", self._draft()),
            "recall": lambda: ("POST", "/recall", {"query": sentence(self._random, 6), "limit": 5}),
            "context": lambda: ("POST", "/context", {"query": sentence(self._random, 6), "budget": 1000}),
            "read": lambda: ("GET", f"/memories/{self._random.choice(list(self.seen.written))}", None),
        }

    def run(self, until: float) -> None:
        """Send requests until the end of the phase."""
        while time.monotonic() < until:
            (kind,) = self._random.choices(_KINDS, _SHARES)
            self._one("write" if kind == "read" and not self.seen.written else kind)
        self._connection.close()

    def _draft(self) -> dict[str, Any]:
        return {"content": sentence(self._random), "tier": self._random.choice(_TIERS)}

    def _one(self, kind: str) -> None:
        method, path, body = self._requests[kind]()
        started = time.perf_counter()
        try:
            self._connection.request(
                method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"}
            )
            response = self._connection.getresponse()
            told = json.loads(response.read())
        except (OSError, ValueError, http.client.HTTPException) as error:
            self.seen.errors.append(f"{kind}: {error!r}")
            self._connection.close()
            return
        self.seen.times[kind].append((time.perf_counter() - started) * 1000)
        if response.status not in (200, 201):
            self.seen.errors.append(f"{kind}: {response.status} {told}")
        elif kind == "write":
            self.seen.written[told["id"]] = body["content"]


@contextmanager
def maintenance(path: Path, codes: list[int]) -> Iterator[None]:
    """Run maintenance and the tier rules repeatedly in another process; record the exit codes."""
    enough = threading.Event()
    known = environment(path.parent / "home", MEMOTHERM_EMBEDDER="local")

    def work() -> None:
        while not enough.is_set():
            for verb in ("maintain", "compact"):
                command = [sys.executable, "-m", "memotherm", verb, "--store", str(path)]
                codes.append(subprocess.run(command, env=known, capture_output=True, check=False).returncode)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        enough.set()
        thread.join()


def phase(folder: Path, clients: int, seconds: float, embedder: str, *, busy: bool, workers: int) -> list[Row]:
    """Run one phase on a store of its own, and check for lost writes."""
    path = folder / ("maintained.db" if busy else "alone.db")
    with memotherm.open(path, embedder=embedder) as mem:
        source = random.Random(-1)
        mem.remember_many([{"content": sentence(source)} for _ in range(2000)])
    options = ["--workers", str(workers)]
    with served(path, options=options, MEMOTHERM_EMBEDDER=embedder, MEMOTHERM_SERVER_RATE_PER_MINUTE="0") as server:
        address = server.url.removeprefix("http://")
        crowd = [Client(number, address) for number in range(clients)]
        used = _cpu_seconds(server.process.pid)
        codes: list[int] = []
        with maintenance(path, codes) if busy else nullcontext():
            until = time.monotonic() + seconds
            threads = [threading.Thread(target=client.run, args=(until,)) for client in crowd]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            used = _cpu_seconds(server.process.pid) - used
        ended = server.end()
    seen = [client.seen for client in crowd]
    lost = _lost(path, {key: value for each in seen for key, value in each.written.items()})
    upkeep = {"maintenance_runs": len(codes), "maintenance_failures": sum(map(bool, codes))}
    return _rows(
        "maintained" if busy else "alone",
        seen,
        lost,
        seconds,
        {**upkeep, "exit": ended, "cores": round(used / seconds, 2)},
    )


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process and its children so far, where the system provides it."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()
    except OSError:
        return 0.0
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(_cpu_seconds(int(child)) for child in children)


def _lost(path: Path, written: dict[str, str]) -> list[str]:
    """Return the acknowledged writes that cannot be read, and the problems that `check` finds."""
    with memotherm.open(path, embedder="none") as mem:
        problems = [str(problem) for problem in mem.check()]
        there: dict[str, str] = {}
        cursor: str | None = None
        while True:
            page = mem.find(limit=1000, cursor=cursor)
            there |= {memory.id: memory.content for memory in page}
            cursor = page.cursor
            if cursor is None:
                return problems + [key for key, content in written.items() if there.get(key) != content]


def _rows(name: str, seen: list[Seen], lost: list[str], seconds: float, notes: dict[str, Any]) -> list[Row]:
    errors = [error for each in seen for error in each.errors]
    taken = {kind: sorted(time for each in seen for time in each.times[kind]) for kind in _KINDS}
    requests = sum(map(len, taken.values()))
    cpu = round(notes["cores"] * seconds * 1000 / max(1, requests), 2)
    notes |= {"requests": requests, "per_second": round(requests / seconds, 1), "cpu_ms": cpu}
    shared = f"{len(seen)} clients, {name}"
    rows = [
        Row(key=f"{name}_errors", what=f"errors, {shared}", value=len(errors), unit="", target=0,
            notes={**notes, "first": errors[:5]}),
        Row(key=f"{name}_lost", what=f"lost of {len(taken['write'])} writes, {shared}", value=len(lost), unit="",
            target=0, notes={"first": lost[:5]}),
    ]  # fmt: skip
    for kind, times in taken.items():
        rates = {"count": len(times), "per_second": round(len(times) / seconds, 1)}
        quantiles = {f"p{share}": _at(times, share) for share in (50, 95, 99, 100)}
        rows.append(
            Row(key=f"{name}_{kind}_p95", what=f"{kind}, p95, {shared}", value=_at(times, 95), unit="ms",
                target=_P95_MS, notes={**rates, **quantiles})
        )  # fmt: skip
    return rows


def _at(times: list[float], percent: int) -> float:
    return round(times[min(len(times) - 1, len(times) * percent // 100)], 1) if times else 0.0


def main() -> int:
    """Measure both phases, print and write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--embedder", default="local")
    parser.add_argument("--workers", type=int, default=1, help="the processes of the server")
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="memotherm-load-") as folder:
        for busy in (False, True):
            rows += phase(
                Path(folder), options.clients, options.seconds, options.embedder, busy=busy, workers=options.workers
            )
    found = report.record("load", rows, **vars(options))
    report.print_rows("Many clients at once", rows)
    print(f"written to {report.write('load', found)}", file=sys.stderr)
    return 0 if all(row.reached for row in rows if row.target == 0) else 1


if __name__ == "__main__":
    sys.exit(main())
