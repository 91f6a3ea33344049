"""A session whose tool calls concern memories, with the real Claude Code and Codex, for `make hosts`.

It reads files, runs commands of which one fails, and starts a subagent. Each call must get exactly its memory, and the
others nothing; and what a request has begun with, its tools, system prompt and messages, must not change later, because
providers cache it.
"""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.text.tokens import count_tokens
from tests.hosts.clients import WAITING, codex_command, patient
from tests.hosts.model import Model, events, function_call, messages, model, responses, said, tool_call

__all__ = ["actions"]

PROMPT = "Please work through the list."
TASK = "Find out how the staging database is called."
RULE = "Never edit src/api.ts by hand: `pnpm codegen` writes it."
ANCHORED = "The order of the handlers is on purpose"
COMMAND = "Run `make clean` twice, because the first one leaves the lock file"
FIX = (
    "`make test` failed: ModuleNotFoundError: No module named 'yaml'\n"
    "In one session, it succeeded after `pip install pyyaml`."
)
DATABASE = "The staging database is called heron."
#: Calls that concern no memory make the session long.
_TURNS = 50
_PATCH = "*** Begin Patch\n*** Update File: src/api.ts\n@@\n-export {}\n+export const a = 1\n*** End Patch"
_BLOCK = re.compile(r"<memotherm-memory>.*?</memotherm-memory>", re.DOTALL)


class Step(NamedTuple):
    """A call that the model makes: what it is, the tool, its arguments, and the memory that it must get."""

    about: str
    tool: str
    arguments: dict[str, Any]
    memory: str = ""


def _claude(work: Path) -> list[Step]:
    return [
        Step("reads src/api.ts", "Read", {"file_path": f"{work}/src/api.ts"}, RULE),
        Step("reads src/main.ts", "Read", {"file_path": f"{work}/src/main.ts"}, ANCHORED),
        Step("edits src/other.ts", "Write", {"file_path": f"{work}/src/other.ts", "content": "export {}\n"}),
        Step("runs make clean", "Bash", {"command": "make clean"}, COMMAND),
        Step("runs make test, which fails", "Bash", {"command": "make test"}, FIX),
        Step("starts a subagent", "Agent", {"description": "look", "prompt": TASK, "subagent_type": "general-purpose"}),
        Step("reads src/api.ts again", "Read", {"file_path": f"{work}/src/api.ts"}),
    ]


def _codex(work: Path) -> list[Step]:
    del work
    return [
        Step("edits src/api.ts", "exec_command", {"cmd": f"apply_patch <<'EOF'\n{_PATCH}\nEOF"}, RULE),
        Step("runs make clean", "exec_command", {"cmd": "make clean"}, COMMAND),
        Step("runs make test, which fails", "exec_command", {"cmd": "make test"}, FIX),
        Step("runs make all", "exec_command", {"cmd": "make all"}),
    ]


def _idle(tool: str, field: str) -> list[Step]:
    return [Step("", tool, {field: f"echo {number}"}) for number in range(_TURNS)]


class Scripted(Model):
    """A model that makes the calls of a list one by one, and answers a subagent with one sentence."""

    steps: Sequence[Step] = ()

    def do_POST(self) -> None:  # noqa: N802 - the name of the standard library
        """Answer a request of either API."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        request = json.loads(body or "{}")
        spoken = request.get("messages") or request.get("input") or []
        if "count_tokens" in self.path or not spoken or not request.get("tools"):
            self._send(json.dumps({"input_tokens": 10}), "application/json")
            return
        self.asked.append(body)
        text = json.dumps(spoken)
        done = text.count('"tool_result"') + text.count('"function_call_output"')
        step = self.steps[done] if PROMPT in text and done < len(self.steps) else None
        if "/responses" in self.path:
            item = said(self.reply) if step is None else function_call(step.arguments, step.tool, "", f"call_{done}")
            stream = responses(item)
        elif step is None:
            stream = messages(self.reply)
        else:
            stream = tool_call(step.arguments, step.tool, f"toolu_{done}", f"msg_{done}")
        self._send(events(stream), "text/event-stream")


def actions(environment: Callable[[Path, int], dict[str, str]], client: str, folder: Path) -> dict[str, bool]:
    """Run the session, print which call got what, and return whether each got what it must."""
    work = folder / "work"
    (work / "src").mkdir(parents=True)
    for name in ("api", "main"):
        (work / "src" / f"{name}.ts").write_text("export {}\n")
    failing = "@echo \"ModuleNotFoundError: No module named 'yaml'\"; exit 1"
    (work / "Makefile").write_text(f"all clean:\n\t@true\ntest:\n\t{failing}\n")
    subprocess.run(["git", "init", "-q", "-b", "main", work], check=True)
    with model(reply="Done.", handler=Scripted) as port:
        env = environment(folder, port)

        def run(*words: str) -> None:
            subprocess.run(
                words, env=env, cwd=work, capture_output=True, check=True, timeout=600, stdin=subprocess.DEVNULL
            )

        ours = (sys.executable, "-m", "memotherm")
        scope = ("--project", "auto", "--user", "auto")
        for kind, text in (("rule", RULE), ("fact", COMMAND), ("fix", FIX), ("fact", DATABASE)):
            run(*ours, "remember", text, "--kind", kind, *scope)
        run(*ours, "remember", ANCHORED, "--about", "src/main.ts", *scope)
        run(*ours, "install", client)
        patient(*folder.glob(".claude/settings.json"), *folder.glob(".codex/hooks.json"))
        if client == "codex":
            Scripted.steps = [*_codex(work), *_idle("exec_command", "cmd")]
            program, verb, *words = codex_command(port, PROMPT)
            run(program, verb, "--dangerously-bypass-approvals-and-sandbox", *WAITING, *words)
        else:
            Scripted.steps = [*_claude(work), *_idle("Bash", "command")]
            tools = "Bash,Read,Write,Agent"
            run("claude", "-p", PROMPT, "--model", "claude-sonnet-4-5", "--allowedTools", tools)
        return _judged(client, [json.loads(body) for body in Model.asked])


def _judged(client: str, requests: list[dict[str, Any]]) -> dict[str, bool]:
    own = [each for each in requests if PROMPT in json.dumps(each.get("messages") or each.get("input"))]
    others = [each for each in requests if each not in own]
    found, known, tokens = {}, _memories(own[0]), 0
    for step, request in zip(Scripted.steps, own[1:], strict=False):
        now = _memories(request)
        new = now[len(known) :]
        tokens += sum(map(count_tokens, new))
        known = now
        if step.about:
            sys.stdout.write(f"  {step.about}: {' / '.join(map(_first, new)) or 'nothing'}\n")
            right = all(step.memory.partition("\n")[0] in each for each in new)
            found[f"{client}, {step.about}"] = right and len(new) == bool(step.memory)
        elif new:
            found[f"{client}, a call that concerns nothing"] = False
    if any(step.tool == "Agent" for step in Scripted.steps):
        told = _memories(others[0]) if others else []
        sys.stdout.write(f"  its subagent: {' / '.join(map(_first, told)) or 'nothing'}\n")
        found[f"{client}, its subagent"] = len(told) == 1 and DATABASE in told[0]
    begun = [_parts(each) for each in own]
    kept = sum(later[: len(earlier)] == earlier for earlier, later in itertools.pairwise(begun))
    calls = len(own) - 1
    sys.stdout.write(f"  {tokens} tokens at {calls} calls; {kept} requests begin with all of the one before\n")
    found[f"{client}: what was sent stays as it was"] = kept == calls >= _TURNS
    return found


def _memories(request: dict[str, Any]) -> list[str]:
    """Return the texts of ours in the messages of a request, in their order."""
    return [text.replace("\\n", "\n") for part in _parts(request) for text in _BLOCK.findall(part)]


def _first(block: str) -> str:
    """Return the first line of the memory in a text of ours."""
    return block.partition("\n- ")[2].partition("\n")[0]


def _parts(request: dict[str, Any]) -> list[str]:
    """Return what a request has, in the order of the prompt, without the marks of what is to be cached."""
    spoken = [request.get("tools"), request.get("system"), request.get("instructions")]
    for message in request.get("messages") or request.get("input") or []:
        content = message.get("content")
        spoken += [message.get("role"), *content] if isinstance(content, list) else [message]
    return [json.dumps(_unmarked(each)) for each in spoken]


def _unmarked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unmarked(each) for each in value]
    if isinstance(value, dict):
        return {name: _unmarked(each) for name, each in value.items() if name != "cache_control"}
    return value
