"""`python -m bench.load`: many clients against a real server, alone and while another process does maintenance.

Half of the requests write, the others recall, ask for a context, or read back what was written before. A write
counts as lost when the server has acknowledged it and it is not in the store afterwards as it was sent. The clients
ask without a pause, so that times are mostly waiting: 32 clients wait 32 times as long as the server needs for one
request. `cpu_ms` says what that is, `embedding_cpu_ms` how much of it an average request spends in the model,
`client_cpu_ms` what a request costs the clients, and `cores` how much of the machine the server got. The last phase
runs without an embedder: what is left is the work of the server itself. At the end one client alone sends requests of
each kind, one after the other, and `costs` has their CPU time in a server without an embedder.
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
from memotherm.embed import embed_query, resolve

_WORDS = """the staging database is called heron and answers on port while billing deploys every friday after review
    by our platform team so nobody should merge without asking anna first because latency of search grew when cache
    moved to another region last month users prefer short answers in german dark mode weekly report customer invoice
    password rotation happens before release train leaves paris office plants need water""".split()  # noqa: SIM905
_TIERS = ("hot", "warm", "warm", "cold", None)
_KINDS = ("write", "recall", "context", "read")
_SHARES = (0.5, 0.3, 0.1, 0.1)
_P95_MS = 1000
_WARMING_SECONDS = 2
#: Requests per second on two cores.
_RATE = 180
#: How many requests of each kind one client sends alone.
_ALONE = 200
_WARMING = 20


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
            self.send("write" if kind == "read" and not self.seen.written else kind)
        self._connection.close()

    def _draft(self) -> dict[str, Any]:
        return {"content": sentence(self._random), "tier": self._random.choice(_TIERS)}

    def send(self, kind: str) -> None:
        """Send a request and record what comes of it."""
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


def phase(name: str, folder: Path, clients: int, seconds: float, embedder: str, workers: int) -> list[Row]:
    """Run one phase on a store of its own, and check for lost writes."""
    path, busy = folder / f"{name}.db", name == "maintained"
    _fill(folder / f"filled-{embedder}.db", path, embedder)
    embedding = _embedding_cpu_ms(embedder)
    options = ["--workers", str(workers)]
    with served(path, options=options, MEMOTHERM_EMBEDDER=embedder, MEMOTHERM_SERVER_RATE_PER_MINUTE="0") as server:
        address = server.url.removeprefix("http://")
        warming, crowd = ([Client(first + number, address) for number in range(clients)] for first in (clients, 0))
        _run(warming, _WARMING_SECONDS)  # every worker loads the model with its first request
        used, spent = _cpu_seconds(server.process.pid), time.process_time()
        codes: list[int] = []
        with maintenance(path, codes) if busy else nullcontext():
            _run(crowd, seconds)
            used, spent = _cpu_seconds(server.process.pid) - used, time.process_time() - spent
        ended = server.end()
    seen = [client.seen for client in crowd]
    written = {key: value for client in (*warming, *crowd) for key, value in client.seen.written.items()}
    lost = _lost(path, written)
    upkeep = {"maintenance_runs": len(codes), "maintenance_failures": sum(map(bool, codes))}
    requests = max(1, sum(len(times) for each in seen for times in each.times.values()))
    costs = {
        "workers": workers,
        "cores": round(used / seconds, 2),
        "cpu_ms": round(1000 * used / requests, 2),
        "embedding_cpu_ms": round(embedding, 2),
        "client_cpu_ms": round(1000 * spent / requests, 2),
    }
    return _rows(name, seen, lost, seconds, {**upkeep, "exit": ended, **costs})


def costs(folder: Path) -> dict[str, float]:
    """Return the CPU milliseconds of a request of each kind in a server without an embedder."""
    path, found = folder / "costs.db", {}
    _fill(folder / "filled-none.db", path, "none")
    with served(path, MEMOTHERM_EMBEDDER="none", MEMOTHERM_SERVER_RATE_PER_MINUTE="0") as server:
        client = Client(0, server.url.removeprefix("http://"))
        for kind in _KINDS:
            for _ in range(_WARMING):
                client.send(kind)
            used = _cpu_seconds(server.process.pid)
            for _ in range(_ALONE):
                client.send(kind)
            found[kind] = round(1000 * (_cpu_seconds(server.process.pid) - used) / _ALONE, 2)
    return found


def _run(crowd: list[Client], seconds: float) -> None:
    """Let all clients send requests at once."""
    until = time.monotonic() + seconds
    threads = [threading.Thread(target=client.run, args=(until,)) for client in crowd]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _fill(filled: Path, path: Path, embedder: str) -> None:
    """Copy a store of 2,000 memories; it is filled before the first phase with an embedder."""
    new = not filled.exists()
    with memotherm.open(filled, embedder=embedder) as mem:
        if new:
            source = random.Random(-1)
            mem.remember_many([{"content": sentence(source)} for _ in range(2000)])
        mem.checkpoint(path)


def _embedding_cpu_ms(name: str, count: int = 50) -> float:
    """Return the CPU time that an average request spends in the model: writes embed a text, searches a query."""
    if name == "none":
        return 0.0
    embedder, source, shares = resolve(name), random.Random(-2), dict(zip(_KINDS, _SHARES, strict=True))
    contents, asked = ([sentence(source, words) for _ in range(count)] for words in (16, 6))
    embedder.embed(contents[:1])
    started = time.process_time()
    embedder.embed(contents)
    stored = time.process_time()
    for query in asked:
        embed_query(embedder, query)
    searched = time.process_time()
    searches = shares["recall"] + shares["context"]
    return 1000 * (shares["write"] * (stored - started) + searches * (searched - stored)) / count


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
    rate = round(requests / seconds, 1)
    shared = f"{len(seen)} clients, {name.replace('_', ' ')}"
    rows = [
        Row(key=f"{name}_rate", what=f"requests, {shared}", value=rate, unit="/s", target=_RATE, rising=True,
            notes={"requests": requests, **notes}),
        Row(key=f"{name}_errors", what=f"errors, {shared}", value=len(errors), unit="", target=0,
            notes={"first": errors[:5]}),
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
    """Measure all phases, print and write the results."""
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--embedder", default="local")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="the processes of the server")
    options = parser.parse_args()
    phases = (
        ("one_worker", options.embedder, 1),
        ("alone", options.embedder, options.workers),
        ("maintained", options.embedder, options.workers),
        ("without_embedder", "none", options.workers),
    )
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="memotherm-load-") as folder:
        for name, embedder, workers in phases:
            rows += phase(name, Path(folder), options.clients, options.seconds, embedder, workers)
        alone = costs(Path(folder))
    found = {**report.record("load", rows, **vars(options)), "costs": alone}
    report.print_rows("Many clients at once", rows)
    print(f"CPU milliseconds of a request, one client, no embedder: {json.dumps(alone)}")
    print(f"written to {report.write('load', found)}", file=sys.stderr)
    return 0 if all(row.reached for row in rows if row.target == 0) else 1


if __name__ == "__main__":
    sys.exit(main())
