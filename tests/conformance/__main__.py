"""Let the official MCP inspector and conformance suite look at our server, on stdio and on HTTP, in both eras.

And let `openapi-typescript` make a client of the OpenAPI document.

The scenarios that do not apply to us stand, with the reason, in the file of each revision beside this one.
A program that is not installed is told, and is a failure.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import memotherm
from tests.interfaces.served import environment, served

HERE = Path(__file__).parent
ERAS = ("legacy", "modern")
REVISIONS = ("2026-07-28", "2025-11-25")
FACT = "Otters hold hands while they sleep"
#: What the inspector is asked to do, and what the answer says.
QUESTIONS: tuple[tuple[list[str], str], ...] = (
    (["--method", "resources/list"], "memory://hot"),
    (["--method", "resources/templates/list"], "memory://{id}"),
    (["--method", "prompts/list"], "recall"),
    (["--method", "tools/call", "--tool-name", "memory_recall", "--tool-args-json", '{"query": "otters"}'], FACT),
    (
        ["--method", "tools/call", "--tool-name", "store_memory", "--tool-args-json", '{"content": "The sky is blue"}'],
        "mem_",
    ),
    (["--method", "resources/read", "--uri", "memory://hot"], FACT),
    (["--method", "prompts/get", "--prompt-name", "recall", "--prompt-args", "topic=otters"], FACT),
)

Checks = Iterator[tuple[str, bool]]


class Target:
    """A server as the inspector is told of it."""

    def __init__(self, name: str, words: list[str], home: Path) -> None:
        self.name = name
        self._words = words
        self._known = {**environment(home / "data"), "HOME": str(home)}

    def checks(self) -> Checks:
        """Yield what the inspector says."""
        for era in ERAS:
            code, _, complaints = self._inspect(era, "--strict", "--method", "tools/list")
            yield f"{self.name}, {era}: the tools are portable without a warning", code == 0 and not complaints
            for words, expected in QUESTIONS:
                code, said, _ = self._inspect(era, "-q", *words)
                yield f"{self.name}, {era}: {' '.join(words[1:4:2])}", code == 0 and expected in said
            wrong = ("--tool-name", "memory_forget", "--tool-args-json", '{"memory_id": "mem_none"}')
            code, said, _ = self._inspect(era, "-q", "--method", "tools/call", *wrong)
            yield f"{self.name}, {era}: what fails is told as a failure", code == 5 and "not_found" in said

    def _inspect(self, era: str, *words: str) -> tuple[int, str, str]:
        done = run(["mcp-inspector", "--cli", "--protocol-era", era, "--format", "json", *self._words, *words],
                   self._known)  # fmt: skip
        told = "\n".join(line for line in done.stderr.splitlines() if re.match(r"Warning|Error", line))
        if done.returncode not in (0, 5) or told:
            sys.stderr.write(done.stderr[-3000:])
        return done.returncode, _plain(done.stdout), told


def _plain(text: str) -> str:
    """Return JSON without its escapes, so that words can be looked for in it."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False).replace('\\"', '"')
    except ValueError:
        return text


def suite(url: str, revision: str, folder: Path) -> Checks:
    """Yield what the conformance suite says of a revision."""
    expected = str(HERE / f"{revision}.yml")
    done = run(["conformance", "server", "--url", url, "--requirements", revision, "--expected-failures", expected,
                "-o", str(folder / revision)], dict(os.environ))  # fmt: skip
    total = re.search(r"Total: (\d+ passed)", done.stdout)
    if done.returncode:
        sys.stderr.write(done.stdout[done.stdout.find("=== SUMMARY") :] + done.stderr[-2000:])
    yield f"conformance {revision} ({total[1] if total else 'no result'})", done.returncode == 0


def client(url: str, folder: Path) -> Checks:
    """Yield whether a client of TypeScript is made of the OpenAPI document, without a warning, and compiles."""
    file = folder / "client.ts"
    done = run(["openapi-typescript", f"{url}/openapi.json", "--output", str(file)], dict(os.environ))
    told = done.stdout + done.stderr
    well = done.returncode == 0 and not re.search(r"⚠|✘|warn|error", told, re.IGNORECASE)
    if not well:
        sys.stderr.write(told[-3000:])
    yield "openapi-typescript makes a client", well and "/memories/{memory_id}" in file.read_text()
    compiled = run(["tsc", "--noEmit", "--strict", str(file)], dict(os.environ))
    sys.stderr.write(compiled.stdout[-3000:])
    yield "the client compiles", compiled.returncode == 0


def run(words: list[str], known: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, env=known, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)


@contextmanager
def store(folder: Path, name: str, tenant: str | None = None) -> Iterator[tuple[Path, str | None]]:
    """Make a store with one fact in it, and a key if it has a tenant."""
    path = folder / name / "memory.db"
    path.parent.mkdir()
    with memotherm.open(path, embedder="none") as mem:
        mem.scoped(tenant=tenant).remember(FACT, tier="hot")
        key = mem.keys.create("inspector", tenant) if tenant else None
    yield path, key


def checks(folder: Path) -> Checks:
    with store(folder, "stdio") as (path, _):
        words = [sys.executable, "-m", "memotherm", "mcp", "--tools", "all", "--store", str(path)]
        yield from Target("stdio", words, path.parent).checks()
    with store(folder, "keyed", "acme") as (path, key), served(path, key=key) as server:
        words = ["--header", f"Authorization: Bearer {key}", "--server-url", f"{server.url}/mcp", "--transport", "http"]
        yield from Target("http with a key", words, path.parent).checks()
    with store(folder, "open") as (path, _), served(path) as server:
        for revision in REVISIONS:
            yield from suite(f"{server.url}/mcp", revision, folder)
        yield from client(server.url, folder)


def main() -> int:
    missing = [
        name for name in ("mcp-inspector", "conformance", "openapi-typescript", "tsc") if shutil.which(name) is None
    ]
    if missing:
        sys.stdout.write(f"FAIL not on the PATH: {', '.join(missing)}\n")
        return 1
    failures = 0
    with tempfile.TemporaryDirectory(prefix="memotherm-conformance-", ignore_cleanup_errors=True) as folder:
        for name, well in checks(Path(folder)):
            sys.stdout.write(f"{'ok  ' if well else 'FAIL'} {name}\n")
            sys.stdout.flush()
            failures += not well
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
