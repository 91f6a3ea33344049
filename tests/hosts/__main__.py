"""Drive the real Claude Code and Codex with our hooks installed, and look for our memory in what they send.

Nothing leaves the machine: both talk to a small model API on loopback that answers every request with one
sentence and keeps what it was asked. A host that is not installed is told, and is a failure.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from memotherm.notes.transcript import transcript

FACT = "The staging database is called heron"
REPLY = "The staging database is heron, and it answers on port 5433."


class Model(BaseHTTPRequestHandler):
    """A model that says one sentence, in the words of both APIs."""

    asked: list[str] = []  # noqa: RUF012 - one list for the one server of a run

    def do_POST(self) -> None:
        """Answer a request of either API."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        self.asked.append(body)
        if "count_tokens" in self.path:
            self._send(json.dumps({"input_tokens": 10}), "application/json")
        elif "/responses" in self.path:
            self._send(events(responses()), "text/event-stream")
        elif json.loads(body or "{}").get("stream"):
            self._send(events(messages()), "text/event-stream")
        else:
            self._send(json.dumps(message(REPLY)), "application/json")

    def do_GET(self) -> None:
        """Answer anything else with nothing."""
        self._send("{}", "application/json")

    def _send(self, text: str, kind: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def message(text: str) -> dict[str, Any]:
    usage = {"input_tokens": 10, "output_tokens": 5}
    content = [{"type": "text", "text": text}] if text else []
    stop = "end_turn" if text else None
    return {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": content,
            "stop_reason": stop, "stop_sequence": None, "usage": usage}  # fmt: skip


def messages() -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": message("")}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": REPLY}}
    yield {"type": "content_block_stop", "index": 0}
    yield {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
           "usage": {"output_tokens": 5}}  # fmt: skip
    yield {"type": "message_stop"}


def responses() -> Iterator[dict[str, Any]]:
    item = {"type": "message", "id": "m1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": REPLY, "annotations": []}]}  # fmt: skip
    usage = {"input_tokens": 10, "input_tokens_details": None, "output_tokens": 5, "output_tokens_details": None,
             "total_tokens": 15}  # fmt: skip
    yield {"type": "response.created", "response": {"id": "r1"}}
    yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    yield {"type": "response.completed", "response": {"id": "r1", "usage": usage}}


def events(all_of_them: Iterator[dict[str, Any]]) -> str:
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in all_of_them)


@contextmanager
def model() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    Model.asked.clear()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def claude(port: int, prompt: str) -> list[str]:
    del port
    return ["claude", "-p", prompt, "--output-format", "json", "--model", "claude-sonnet-4-5"]


def codex(port: int, prompt: str) -> list[str]:
    provider = (
        f'{{name="fake",base_url="http://127.0.0.1:{port}/v1",wire_api="responses",env_key="DUMMY_KEY",'
        "supports_websockets=false}"
    )
    return ["codex", "exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-c", 'model_provider="fake"',
            "-c", 'model="gpt-5"', "-c", f"model_providers.fake={provider}", prompt]  # fmt: skip


def environment(home: Path, port: int) -> dict[str, str]:
    return {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "MEMOTHERM_HOME": str(home / "data"),
        "DISABLE_AUTOUPDATER": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_TELEMETRY": "1",
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "dummy",
        "DUMMY_KEY": "dummy",
    }


def checked(client: str, program: str, command: Callable[[int, str], list[str]]) -> dict[str, bool]:
    if shutil.which(program) is None:
        return {f"{program} is on the PATH": False}
    with (
        tempfile.TemporaryDirectory(prefix="memotherm-hosts-", ignore_cleanup_errors=True) as folder,
        model() as port,
    ):
        home = Path(folder)
        (home / "work").mkdir()
        known = environment(home, port)

        def run(*words: str) -> subprocess.CompletedProcess[str]:
            return subprocess.run(
                words, env=known, cwd=home / "work", capture_output=True, text=True, timeout=180,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip

        def ours(*words: str) -> str:
            return run(sys.executable, "-m", "memotherm", *words).stdout

        ours("remember", FACT, "--tier", "hot", "--tag", "blocker")
        ours("install", client)
        first = run(*command(port, "Please note that our mascot is a purple walrus"))
        if REPLY not in first.stdout:
            sys.stderr.write(f"{first.stdout[-2000:]}\n{first.stderr[-2000:]}\n")
        worked_off(home / "data" / "spool", lambda: ours("worker", "--once", "--all"))
        kept = ours("list", "--project", "auto", "--user", "auto", "--json")
        spoken = said(home)
        begun = "".join(Model.asked)
        Model.asked.clear()
        run(*command(port, "What is our mascot, a walrus perhaps"))
        later = "".join(Model.asked)
        return {
            f"{client}: the host answers": REPLY in first.stdout,
            f"{client}: the memory is in its first request": FACT in begun,
            f"{client}: what was said is kept": "purple walrus" in kept and "port 5433" in kept,
            f"{client}: the next session knows it": "purple walrus" in later,
            f"{client}: its transcript can be read": any(each.startswith("User: Please note") for each in spoken)
            and any(each.startswith("Assistant: ") and REPLY in each for each in spoken),
            f"{client}: what was recalled is not in it": not any(FACT in each for each in spoken),
        }


def said(home: Path) -> list[str]:
    """Return what the host's own transcripts say, as the notes index it."""
    files = [*(home / ".claude" / "projects").rglob("*.jsonl"), *(home / ".codex" / "sessions").rglob("*.jsonl")]
    return [line for file in files for line in transcript(file.read_bytes()).lines if line]


def worked_off(spool: Path, work: Callable[[], str]) -> None:
    """Work until nothing waits: the worker that the host's hook has started may be at it too."""
    for _ in range(60):
        work()
        if not list(spool.glob("*.job.json")):
            return
        time.sleep(0.5)


def main() -> int:
    found = {**checked("claude-code", "claude", claude), **checked("codex", "codex", codex)}
    for name, well in found.items():
        sys.stdout.write(f"{'ok  ' if well else 'FAIL'} {name}\n")
    return 0 if all(found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
