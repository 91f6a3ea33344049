"""Sessions of a client: the real Claude Code, or the hook commands as Claude Code calls them."""

from __future__ import annotations

import json
import re
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.hosts.day import Injected
from tests.hosts.model import Model, blocks, blocks_of_turn

__all__ = ["WAITING", "ClaudeCode", "Codex", "HookCommands", "codex_command", "patient", "worked_off"]


class HookCommands:
    """A session that runs the commands in Claude Code's settings file as Claude Code does.

    Args:
        settings: The settings file.
        folder: The folder of the project.
        env: The environment of all commands.
        tools: Functions that stand for the tools an agent calls, by the prompt that asks for them.
    """

    def __init__(
        self, settings: Path, folder: Path, env: Mapping[str, str], tools: Mapping[str, Callable[[], object]]
    ) -> None:
        self._hooks: dict[str, Any] = json.loads(settings.read_text("utf-8"))["hooks"]
        self._folder = folder
        self._env = env
        self._tools = tools
        self._session = str(uuid.uuid4())
        self._started = False

    def ask(self, prompt: str) -> Injected:
        """Send a prompt, after the start of the session if it is the first, and return what was injected."""
        at_start = "" if self._started else self._send("SessionStart", source="startup")
        self._started = True
        with_prompt = self._send("UserPromptSubmit", prompt=prompt)
        if prompt in self._tools:
            self._tools[prompt]()
        self._send("Stop", stop_hook_active=False, last_assistant_message="Noted.")
        return Injected(at_start, with_prompt)

    def end(self) -> None:
        """End the session."""
        self._send("SessionEnd", reason="other")

    def _send(self, event: str, **fields: object) -> str:
        payload = {"session_id": self._session, "cwd": str(self._folder), "hook_event_name": event, **fields}
        texts = []
        for hook in (hook for group in self._hooks[event] for hook in group["hooks"]):
            done = subprocess.run(
                f"{hook['command']} --no-worker", shell=True, input=json.dumps(payload), env=self._env,
                cwd=self._folder, capture_output=True, text=True, timeout=120,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            answer = json.loads(done.stdout or "{}")
            texts.append(str(answer.get("hookSpecificOutput", {}).get("additionalContext", "")))
        return "".join(texts)


class ClaudeCode:
    """A session of the real Claude Code, which reads prompts from standard input until it is closed."""

    def __init__(self, folder: Path, env: Mapping[str, str]) -> None:
        self._seen: set[tuple[str, str]] = set()
        self._process = subprocess.Popen(
            ["claude", "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
             "--model", "claude-sonnet-4-5", "--allowedTools", "mcp__memotherm__store_memory"],
            env=env, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def ask(self, prompt: str) -> Injected:
        """Send a prompt and return the blocks that its requests contain and earlier ones did not."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        Model.asked.clear()
        self._process.stdin.write(json.dumps({"type": "user", "message": {"role": "user", "content": prompt}}) + "\n")
        self._process.stdin.flush()
        if not any(json.loads(line).get("type") == "result" for line in self._process.stdout):
            raise RuntimeError("Claude Code ended before it answered")
        found = dict.fromkeys(block for request in Model.asked for block in blocks(request))
        new = [block for block in found if block not in self._seen]
        self._seen.update(new)
        return Injected(
            "".join(text for event, text in new if event == "SessionStart"),
            "".join(text for event, text in new if event != "SessionStart"),
        )

    def end(self) -> None:
        """Close its input, so that it ends, and wait for it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def codex_command(port: int, prompt: str, session: str | None = None) -> list[str]:
    """Return the command that lets Codex answer a prompt, in a new session or in an earlier one."""
    provider = (
        f'{{name="fake",base_url="http://127.0.0.1:{port}/v1",wire_api="responses",env_key="DUMMY_KEY",'
        "supports_websockets=false}"
    )
    begin = ["codex", "exec"] if session is None else ["codex", "exec", "resume"]
    options = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust", "-c", 'model_provider="fake"',
               "-c", 'model="gpt-5"', "-c", f"model_providers.fake={provider}"]  # fmt: skip
    return [*begin, *options, *([] if session is None else [session]), prompt]


#: Wait for the MCP server, so that the load of the machine does not decide which tools there are.
WAITING = ("-c", "mcp_servers.memotherm.startup_timeout_sec=120", "-c", "mcp_servers.memotherm.required=true")


class Codex:
    """A session of the real Codex, which is resumed for each prompt."""

    def __init__(self, folder: Path, env: Mapping[str, str], port: int) -> None:
        self._folder = folder
        self._env = env
        self._port = port
        self._session: str | None = None

    def ask(self, prompt: str) -> Injected:
        """Send a prompt and return what the first request adds before and after it."""
        Model.asked.clear()
        program, *words = codex_command(self._port, prompt, self._session)
        verbs = 1 if self._session is None else 2
        done = subprocess.run(
            [program, *words[:verbs], *WAITING, *words[verbs:]], env=self._env, cwd=self._folder,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300,
        )  # fmt: skip
        named = re.search(r"session id: (\S+)", done.stderr)
        if done.returncode or named is None or not Model.asked:
            raise RuntimeError(f"Codex ended before it answered: {done.stderr[-2000:]}")
        self._session = named.group(1)
        return Injected(*blocks_of_turn(Model.asked[0]))

    def end(self) -> None:
        """Do nothing: a session ends with each prompt."""


def patient(*settings: Path) -> None:
    """Give the hooks in settings files a minute, so that the load of the machine does not decide what is injected."""
    for file in settings:
        text = file.read_text("utf-8").replace("memotherm hook", "memotherm hook --deadline 60")
        file.write_text(re.sub(r'"timeout": \d+', '"timeout": 60', text), encoding="utf-8")


def worked_off(spool: Path, work: Callable[[], str]) -> None:
    """Work until nothing waits: the worker that the host's hook has started may be at it too."""
    for _ in range(60):
        work()
        if not list(spool.glob("*.job.json")):
            return
        time.sleep(0.5)
