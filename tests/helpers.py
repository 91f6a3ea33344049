"""What several tests share: an embedder that fails, other processes, threads that start at once."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import settings as hypothesis_settings
from numpy.typing import NDArray

import memotherm
from memotherm import Memotherm
from memotherm.errors import EmbedderUnavailable, InvalidInput
from memotherm.testing import HashEmbedder
from tests.stores import encryption, located

ROOT = Path(__file__).resolve().parent.parent
SOURCE = Path(memotherm.__file__).resolve().parent.parent


def queried(mem: Memotherm, body: Mapping[str, Any]) -> Any:
    """Return the answer of `POST /memory/query`; a body that it refuses raises `InvalidInput`."""
    from pydantic import ValidationError

    from memotherm.rest.routes import QueryRequest, query

    try:
        return query(mem, QueryRequest.model_validate(body))
    except ValidationError as exc:
        raise InvalidInput(str(exc)) from exc


class Flaky(HashEmbedder):
    """An embedder whose service can go down and come back."""

    def __init__(self, name: str = "words", *, down: bool = False, after: int | None = None) -> None:
        super().__init__(name=name, record=True)
        self.down = down
        #: How many calls still succeed before it goes down; None = any number.
        self.after = after

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self.after is not None:
            self.down = self.down or self.after <= 0
            self.after -= 1
        if self.down:
            raise EmbedderUnavailable(f"{self.name} is down: try again later")
        return super().embed(texts)


def examples(count: int) -> int:
    """Return how many examples a costly property has: `count` with `make explore`, less by default."""
    return math.ceil(count * hypothesis_settings().max_examples / 100)


def opened(path: Path | str = ":memory:", **arguments: Any) -> Memotherm:
    """Open a memory with the cheap embedder, unless the arguments name another one."""
    settings = arguments.pop("settings", {})
    place = located(path)
    arguments = {**encryption(place), **arguments}
    return memotherm.open(place, **{"embedder": HashEmbedder(), "settings": settings, **arguments})


def contents(memories: Any) -> list[str]:
    """Return what memories, or hits, say."""
    return [getattr(each, "memory", each).content for each in memories]


def python(
    code: str, *arguments: object, folder: Path | None = None, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a piece of code in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=folder or ROOT,
        env={**_environment(), **(env or {})},
        timeout=240,
        check=False,
    )


def _environment() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("MEMOTHERM_")}
    # One thread each: the processes of a test share few cores, and some of them fork.
    return {**kept, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": f"{SOURCE}:{ROOT}"}


class Peer:
    """Another process that obeys: it runs `tests/peer.py` on a store, one command at a time."""

    def __init__(self, script: str, *arguments: object) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / script), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=_environment(),
        )

    def send(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def line(self) -> str:
        """Return the next line it printed; an end of the process is a failure of the test."""
        assert self._process.stdout is not None
        found = self._process.stdout.readline()
        assert found, f"the other process ended with {self._process.wait()}"
        return found.rstrip("\n")

    def ask(self, line: str) -> str:
        self.send(line)
        return self.line()

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
        try:
            self._process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def peers(count: int, script: str, *arguments: object) -> Iterator[list[Peer]]:
    """Start some other processes and end them again."""
    started: list[Peer] = []
    try:
        for _ in range(count):
            started.append(Peer(script, *arguments))  # noqa: PERF401 - those that started must be ended
        yield started
    finally:
        for peer in started:
            peer.close()


def is_linear(cost: Callable[[int], float], size: int) -> bool:
    """Return whether eight times the size costs at most twelve times as much, in seconds of the processor.

    It is tried several times, and less than two milliseconds count as two, so that a busy machine changes nothing.
    """
    return any(cost(8 * size) <= 12 * max(cost(size), 0.002) for _ in range(5))


def together(*calls: Callable[[], Any]) -> list[Any]:
    """Run calls in threads that begin at once; return their results, or raise what one raised."""
    import threading
    from concurrent.futures import ThreadPoolExecutor

    barrier = threading.Barrier(len(calls))

    def begin(call: Callable[[], Any]) -> Any:
        barrier.wait()
        return call()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [future.result(timeout=240) for future in [pool.submit(begin, call) for call in calls]]
