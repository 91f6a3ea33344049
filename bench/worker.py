"""A process that answers requests: one line of JSON each, and one line of JSON in return."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["Worker"]

_ROOT = Path(__file__).parent.parent


class Worker:
    """Runs a module of the benchmarks in a process of its own."""

    def __init__(self, module: str, *arguments: str, paths: Sequence[Path], folder: Path) -> None:
        """Start the process.

        Args:
            module: The module that is run.
            arguments: Its arguments.
            paths: Where it looks for packages before the usual places.
            folder: The folder that it works in.
        """
        folder.mkdir(parents=True, exist_ok=True)
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*paths, _ROOT)))}
        command = [sys.executable, "-m", module, *arguments]
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder
        )

    def ask(self, **request: object) -> Any:  # noqa: ANN401 - JSON
        """Send a request and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(json.dumps(request), file=self._process.stdin, flush=True)
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit("a worker has failed; its message is above")
        return json.loads(answer)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()
