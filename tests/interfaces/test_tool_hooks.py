"""Hooks at tool calls: the payloads of each host, what they are shown, and how most of them end at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

import memotherm
from memotherm import Scope
from memotherm.hooks.capture import process_spool
from memotherm.hooks.events import Options, Told, answer, parse_event
from memotherm.hooks.hosts import HOSTS
from memotherm.hooks.install import PLUGINS, InstallRequest, carry_out, differing_hooks, plan
from memotherm.hooks.log import last_week
from memotherm.hooks.project import project_at, trust, trust_file
from memotherm.hooks.quick import is_unknown
from memotherm.hooks.recall import told_at
from memotherm.hooks.spool import Spool
from memotherm.hooks.subagents import note_task
from memotherm.mcp.server import build
from tests.interfaces.served import environment

RULE = "Never edit src/api.ts by hand: `pnpm codegen` writes it."
FIX = (
    "`make test` failed: ModuleNotFoundError: No module named 'yaml'\nIn one session, it succeeded after `pip i yaml`."
)
_ERROR = "Traceback (most recent call last):\n  File \"/a/b.py\", line 3\nModuleNotFoundError: No module named 'yaml'"

#: What each host sends, and which memory it gets.
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("claude", {"hook_event_name": "PreToolUse", "tool_name": "Read",
                "tool_input": {"file_path": "{w}/src/api.ts"}}, RULE),
    ("claude", {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "src/api.ts"}}, RULE),
    ("claude", {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "lib/api.ts"}}, ""),
    ("claude", {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "pnpm codegen"}}, RULE),
    ("claude", {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "make test"}}, ""),
    ("claude", {"hook_event_name": "PreToolUse", "tool_name": "WebFetch", "tool_input": {"url": "https://a.b"}}, ""),
    ("claude", {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "make test"},
                "error": f"Exit code 1\n{_ERROR}"}, FIX),
    ("codex", {"hook_event_name": "PreToolUse", "turn_id": "1", "tool_name": "apply_patch",
               "tool_input": {"command": "*** Begin Patch\n*** Update File: src/api.ts\n@@\n*** End Patch"}}, RULE),
    ("codex", {"hook_event_name": "PreToolUse", "turn_id": "1", "tool_name": "Bash", "tool_input": {
        "command": "apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/api.ts\n@@\n*** End Patch\nEOF"}}, RULE),
    ("codex", {"hook_event_name": "PostToolUse", "turn_id": "1", "tool_name": "Bash",
               "tool_input": {"command": "make test"}, "tool_response": _ERROR}, FIX),
    ("codex", {"hook_event_name": "PostToolUse", "turn_id": "1", "tool_name": "Bash",
               "tool_input": {"command": "make test"}, "tool_response": "3 passed"}, ""),
    ("gemini", {"hook_event_name": "AfterTool", "tool_name": "replace",
                "tool_input": {"file_path": "{w}/src/api.ts"}, "tool_response": {"llmContent": "ok"}}, RULE),
    ("gemini", {"hook_event_name": "AfterTool", "tool_name": "run_shell_command",
                "tool_input": {"command": "make test"},
                "tool_response": {"llmContent": f"Exit Code: 1\n{_ERROR}"}}, FIX),
    ("opencode", {"hook_event_name": "tool.execute.after", "tool_name": "Read",
                  "tool_input": {"file_path": "{w}/src/api.ts"}}, RULE),
    ("opencode", {"hook_event_name": "tool.execute.after", "tool_name": "Bash",
                  "tool_input": {"command": "make test"}, "error": _ERROR}, FIX),
    ("opencode", {"hook_event_name": "tool.execute.after", "tool_name": "Bash",
                  "tool_input": {"command": "make lint"}}, ""),
    ("cursor", {"hook_event_name": "postToolUse", "conversation_id": "s1", "tool_name": "Shell",
                "tool_input": {"command": "pnpm codegen"}, "tool_output": "done"}, RULE),
]  # fmt: skip


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a rule and a fix in its store; words only, which needs no model."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")
    folder = tmp_path / "work"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    with memotherm.open(scope=Scope(project="p")) as mem:
        mem.remember(RULE, "rule")
        mem.remember(FIX, "fix")
    return folder


def _shown(payload: dict[str, Any], work: Path, client: str = "claude", session: str = "s1") -> str:
    """Return what a hook adds to the context; the text is in the field that its host reads."""
    filled = json.loads(json.dumps(payload).replace("{w}", str(work)))
    event = parse_event({"session_id": session, "cwd": str(work), **filled}, client=client)
    assert event is not None
    options = Options(["--client", client, "--project", "p"])
    told = told_at(event, options) if event.call is not None or event.moment == "agent" else Told()
    given = answer(event, told)
    assert (given is not None) is bool(told.text)
    assert not told.text or told.text in json.dumps(given, ensure_ascii=False).encode().decode("unicode_escape")
    assert told.holds is ("permissionDecision" in json.dumps(given))
    return f"held: {told.text}" if told.holds else told.text


@pytest.mark.parametrize(("client", "payload", "memory"), CALLS)
def test_a_call_is_shown_the_memory_that_names_it(
    client: str, payload: dict[str, Any], memory: str, work: Path
) -> None:
    """Each host in its own words, once; and a hook that ends at once is one that would have said nothing."""
    text = _shown(payload, work, client)
    assert memory.partition("\n")[0] in text
    assert bool(text) is bool(memory)
    arguments, data = ["--client", client, "--project", "p"], json.dumps({"cwd": str(work), **payload}).encode()
    if memory:
        assert not is_unknown(data.replace(b"{w}", str(work).encode()), arguments)
        assert _shown(payload, work, client) == ""


def test_a_call_ends_at_once_until_a_memory_names_it(work: Path) -> None:
    """The names in the store are kept beside it, and hold only as long as its files are unchanged."""
    arguments = ["--client", "claude", "--project", "p"]
    known, other = (
        {"hook_event_name": "PreToolUse", "tool_name": "Edit", "cwd": str(work), "tool_input": {"file_path": path}}
        for path in ("src/api.ts", "src/cart.ts")
    )
    with pytest.raises(OSError, match="names"):
        is_unknown(json.dumps(other).encode(), arguments)
    assert _shown(other, work) == ""
    assert is_unknown(json.dumps(other).encode(), arguments)
    assert not is_unknown(json.dumps(known).encode(), arguments)
    with memotherm.open(scope=Scope(project="p")) as mem:
        mem.remember("src/cart.ts is locked.")
    assert not is_unknown(json.dumps(other).encode(), arguments)
    assert "locked" in _shown(other, work)


def test_the_names_of_one_project_say_nothing_about_the_next(work: Path) -> None:
    """A new remote, or trust in the folder, gives it the memories of another project."""
    payload = {"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "src/api.ts"}}
    event = {"session_id": "s1", "cwd": str(work), **payload}
    arguments = ["--client", "claude", "--project", "auto"]

    def shown() -> str:
        parsed = parse_event(event, client="claude")
        assert parsed is not None
        return told_at(parsed, Options(arguments)).text

    with memotherm.open(scope=Scope(project="github.com/acme/shop")) as mem:
        mem.remember(RULE, "rule")
    with memotherm.open(scope=Scope(project=project_at(work).local)) as mem:
        mem.remember("The lighthouse is painted red")
    assert shown() == ""
    assert is_unknown(json.dumps(event).encode(), arguments)
    trust_file().write_text('["github.com/acme/shop", "/elsewhere"]\n')
    (work / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:acme/shop.git\n')
    assert not is_unknown(json.dumps(event).encode(), arguments)
    assert shown() == ""
    assert is_unknown(json.dumps(event).encode(), arguments)
    trust(project_at(work))
    assert not is_unknown(json.dumps(event).encode(), arguments)
    assert RULE in shown()


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_call_that_a_rule_names_can_be_held_back_once(
    client: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off by default; the second try passes, and reads and what is no rule are never held."""
    command = {"hook_event_name": "PreToolUse", "turn_id": "1", "tool_name": "Bash"}
    codegen = {**command, "tool_input": {"command": "pnpm codegen"}}
    assert not _shown(codegen, work, client, "s0").startswith("held")
    monkeypatch.setenv("MEMOTHERM_HOLD_CALLS", "true")
    with memotherm.open(scope=Scope(project="p")) as mem:
        mem.remember("`make clean` takes a minute")
    assert _shown(codegen, work, client).startswith("held")
    assert _shown(codegen, work, client) == ""
    slow = _shown({**command, "tool_input": {"command": "make clean"}}, work, client)
    assert "takes a minute" in slow
    assert not slow.startswith("held")
    read = {**command, "tool_name": "Read", "tool_input": {"file_path": "src/api.ts"}}
    assert RULE in _shown(read, work, client, "s2")
    assert not _shown(read, work, client, "s3").startswith("held")


def test_a_subagent_gets_the_memory_of_its_task_unless_a_setting_keeps_it_out(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The task is named when the agent starts it, and the text goes to the subagent, whose calls are its own."""
    monkeypatch.delenv("MEMOTHERM_EMBEDDER")
    with memotherm.open(scope=Scope(project="p")) as mem:
        mem.remember("The staging database is called heron.")
    task = {"prompt": "Find out how the staging database is called", "subagent_type": "Explore"}
    start = {"hook_event_name": "SubagentStart", "agent_id": "a1", "agent_type": "Explore"}
    called = {"session_id": "s1", "hook_event_name": "PreToolUse", "tool_name": "Agent", "tool_input": task}

    def started() -> str:
        event = parse_event(called, client="claude")
        assert event is not None
        note_task(event)
        return _shown(start, work)

    assert "heron" in started()
    assert _shown(start, work) == ""
    edit = {"hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "src/api.ts"}}
    assert RULE in _shown(edit, work)
    assert RULE in _shown({**edit, "agent_id": "a1"}, work)
    monkeypatch.setenv("MEMOTHERM_RECALL_IN_SUBAGENTS", "false")
    assert started() == _shown({**edit, "agent_id": "a2"}, work) == ""


def test_a_fix_is_captured_when_the_session_ends(work: Path, tmp_path: Path) -> None:
    """A command fails, another one names the error, and the first one succeeds; the next session is told."""
    transcript = tmp_path / "s.jsonl"
    base = {"sessionId": "s1", "cwd": str(work), "timestamp": "2026-11-01T10:00:00Z", "version": "2.1.0"}

    def ran(number: int, command: str, output: str, *, failed: bool = False) -> list[dict[str, Any]]:
        use = {"type": "tool_use", "id": f"t{number}", "name": "Bash", "input": {"command": command}}
        done = {"type": "tool_result", "tool_use_id": f"t{number}", "content": output, "is_error": failed}
        return [
            {**base, "type": "assistant", "uuid": f"a{number}", "message": {"role": "assistant", "content": [use]}},
            {**base, "type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": [done]}},
        ]

    lines = [
        {**base, "type": "user", "uuid": "p", "message": {"role": "user", "content": "run the checks please"}},
        *ran(1, "tox -e lint", "Exit code 1\nerror: cannot find hook 'blackdoc' in the registry", failed=True),
        *ran(2, "pipx install blackdoc", "installed"),
        *ran(3, "tox -e lint", "ok"),
    ]
    parents = [None, *(line["uuid"] for line in lines)]
    chained = ({**line, "parentUuid": parent} for line, parent in zip(lines, parents, strict=False))
    transcript.write_text("".join(f"{json.dumps(line)}\n" for line in chained), "utf-8")
    spool = Spool(tmp_path / "home" / "spool")
    job = {"version": 1, "client": "claude", "session": "s1", "folder": str(work), "store": None,
           "scope": {"project": "p"}, "do": "fixes", "transcript": str(transcript)}  # fmt: skip
    for _ in range(2):
        spool.add(job)
        assert process_spool(spool).failed == ()
    with memotherm.open(scope=Scope(project="p")) as mem:
        (fix,) = [memory for memory in mem.find(kind="fix") if "blackdoc" in memory.content]
    assert fix.content.endswith("In one session, it succeeded after `pipx install blackdoc`.")
    failure = {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_input": {"command": "tox"},
               "error": "Exit code 2\nerror: cannot find hook 'blackdoc' in the registry"}  # fmt: skip
    assert "pipx install blackdoc" in _shown(failure, work, session="s2")


def test_the_command_ends_without_an_answer_where_no_memory_is_named(work: Path) -> None:
    """As a host calls it: nothing on standard output, nothing imported but what it needs."""
    variables = environment(work.parent / "home")
    code = "import sys; sys.argv = ['memotherm', 'hook', *sys.argv[1:]]; import memotherm.__main__ as m, os\n"
    code += "os._exit = lambda code: (print(sorted(sys.modules)), sys.exit(code))\nm.main()"
    event = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(work), "tool_name": "Edit"}

    def run(path: str) -> str:
        given = json.dumps({**event, "tool_input": {"file_path": path}})
        words = [sys.executable, "-c", code, "--client", "claude", "--project", "p", "--no-worker", "--deadline", "60"]
        return subprocess.run(words, input=given, capture_output=True, text=True, env=variables, cwd=work).stdout

    assert RULE in run("src/api.ts")
    silent = run("src/cart.ts")
    assert "additionalContext" not in silent
    slow = {"memotherm.settings", "memotherm.memory", "numpy", "sqlite3", "pathlib", "json", "re", "enum", "typing"}
    assert not slow & set(eval(silent))


def test_a_call_is_decided_without_regular_expressions_as_with_them(work: Path) -> None:
    """The words of a call and the names in it have the same answer, for files, links, programs and scripts."""
    (work / "docs").mkdir()
    (work / "link.ts").symlink_to(work / "src" / "api.ts")
    arguments = ["--client", "claude", "--project", "p"]
    commands = ["PNPM codegen", "cd web && pnpm codegen", "pnpm|cat", "./tools/api.ts", "'pnpm' codegen",
                "FOO=1 pnpm i", "uv run pnpm i", "git status; pnpm i", ["pnpm", "codegen"]]  # fmt: skip
    silent = ["ls docs", "git status", "echo a && make", "pnpmx codegen", ""]

    def told(**fields: Any) -> bytes:
        return json.dumps({"hook_event_name": "PreToolUse", "cwd": str(work), **fields}).encode()

    _shown({"hook_event_name": "PreToolUse", "tool_name": "Read", "tool_input": {"file_path": "a.py"}}, work)
    for command in commands:
        assert not is_unknown(told(tool_name="Bash", tool_input={"command": command}), arguments), command
    for command in silent:
        assert is_unknown(told(tool_name="Bash", tool_input={"command": command}), arguments), command
    for path, unknown in (("link.ts", False), ("docs/../src/API.ts", False), ("src/b.ts", True), ("~/b.ts", True)):
        assert is_unknown(told(tool_name="Edit", tool_input={"file_path": path}), arguments) is unknown, path
    assert is_unknown(told(tool_name="WebFetch", tool_input={"url": "src/api.ts"}), arguments)
    assert not is_unknown(told(tool_name="Task", tool_input={"prompt": "?"}), arguments)


def test_an_empty_log_that_a_killed_process_left_does_not_count_as_a_change(work: Path) -> None:
    """Otherwise every later call would ask the store, and a hook that is killed for it would leave another one."""
    read = {"hook_event_name": "PreToolUse", "tool_name": "Read", "cwd": str(work), "tool_input": {"file_path": "a.py"}}
    _shown(read, work)
    arguments = ["--client", "claude", "--project", "p"]
    log = work.parent / "home" / "memory.db-wal"
    assert not log.exists()
    log.write_bytes(b"")
    assert is_unknown(json.dumps(read).encode(), arguments)
    log.write_bytes(b"1")
    assert not is_unknown(json.dumps(read).encode(), arguments)


def test_a_call_that_concerns_nothing_loads_no_model_and_writes_nothing(work: Path) -> None:
    """Also where the names are not known yet; they are saved, so that the next call ends at once."""
    variables = {**environment(work.parent / "home"), "MEMOTHERM_EMBEDDER": "local"}
    code = "import sys; sys.argv = ['memotherm', 'hook', *sys.argv[1:]]; import memotherm.__main__ as m, os\n"
    code += "os._exit = lambda code: (print(sorted(sys.modules)), sys.exit(code))\nm.main()"
    read = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(work), "tool_name": "Read"}
    given = json.dumps({**read, "tool_input": {"file_path": "src/cart.ts"}})
    words = [sys.executable, "-c", code, "--client", "claude", "--project", "p", "--no-worker", "--deadline", "60"]
    with memotherm.open(scope=Scope(project="p")) as mem:
        before = mem.status().seq
    done = subprocess.run(words, input=given, capture_output=True, text=True, env=variables, cwd=work)
    loaded = done.stderr  # standard output is kept for the answer
    assert not done.stdout
    assert "memotherm.memory" in loaded
    assert "onnxruntime" not in loaded
    assert "splintr" not in loaded
    with memotherm.open(scope=Scope(project="p")) as mem:
        assert mem.status().seq == before


def test_the_daemon_is_asked_before_patterns_are_imported(work: Path) -> None:
    """A call with a word of a memory may concern it: only patterns tell, and the daemon has them."""
    code = (
        "import sys; sys.argv = ['memotherm', 'hook', *sys.argv[1:]]; import memotherm.__main__ as m, os\n"
        "from memotherm.daemon import client\n"
        "client.run = lambda *_: print(sorted(sys.modules), file=sys.stderr)\n"
        "os._exit = lambda code: (print('memotherm.memory' in sys.modules, file=sys.stderr), sys.exit(code))\nm.main()"
    )
    words = [sys.executable, "-c", code, "--client", "claude", "--project", "p", "--no-worker", "--deadline", "60"]
    for command, asks in (("pnpm codegen", "True"), ("grep -rn pnpm docs", "False")):
        event = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": str(work), "tool_name": "Bash"}
        done = subprocess.run(
            words, input=json.dumps({**event, "tool_input": {"command": command}}), capture_output=True, text=True,
            env=environment(work.parent / "home"), cwd=work,
        )  # fmt: skip
        before, asked = done.stderr.splitlines()
        assert not {"re", "typing", "enum", "memotherm.hooks.calls"} & set(eval(before))
        assert asked == asks


def test_hooks_of_claude_code_call_the_mcp_server_if_its_version_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An earlier version would reject all hooks of the file; `doctor` sees that the server is missing."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    program, host = tmp_path / "claude", HOSTS["claude-code"]
    file = tmp_path / ".claude" / "settings.json"
    for version, kind in (("2.1.117", "command"), ("2.1.325", "mcp_tool"), ("3.0", "mcp_tool")):
        program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
        program.chmod(0o755)
        for change in plan(host, InstallRequest()).changes:
            carry_out(change, uninstall=False)
        hooks = json.loads(file.read_text("utf-8"))["hooks"]
        assert [hook["type"] for group in hooks["PreToolUse"] for hook in group["hooks"]] == [kind]
        assert hooks["SessionStart"][0]["hooks"][0]["type"] == "command"
        assert differing_hooks(host) == {}
    (tmp_path / ".claude.json").write_text("{}")
    without = "without the MCP server that answers it"
    assert differing_hooks(host) == dict.fromkeys(("PreToolUse", "PostToolUseFailure", "SubagentStart"), without)
    for change in plan(host, InstallRequest(uninstall=True)).changes:
        carry_out(change, uninstall=True)
    assert not file.is_file() or "memotherm" not in file.read_text("utf-8")


def test_the_mcp_server_answers_hooks_by_a_tool_that_it_does_not_list(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the fields as Claude Code fills them in: what an event lacks is an empty text, and an object is JSON."""
    monkeypatch.delenv("MEMOTHERM_EMBEDDER")
    base = {"session_id": "s1", "cwd": str(work), "agent_id": "", "agent_type": ""}

    async def run() -> None:
        with memotherm.open(scope=Scope(project="p")) as mem:
            mem.remember("The staging database is called heron.")
            async with Client(build(mem, ["all"])) as client:

                async def asked(event: str, **fields: Any) -> str:
                    given = {**base, "hook_event_name": event, **fields}
                    told = await client.call_tool("answer_hook", given)
                    return str(getattr(told.content[0], "text", "")) if told.content else ""

                read = {"tool_name": "Read", "tool_input": json.dumps({"file_path": f"{work}/src/api.ts"})}
                answer = json.loads(await asked("PreToolUse", **read))["hookSpecificOutput"]
                assert answer["hookEventName"] == "PreToolUse"
                assert RULE in answer["additionalContext"]
                assert not await asked("PreToolUse", **read)
                assert not await asked("PreToolUse", tool_name="Read", tool_input='{"file_path": "other.ts"}')
                failed = {"tool_name": "Bash", "tool_input": '{"command": "make test"}', "error": _ERROR}
                assert "pip i yaml" in await asked("PostToolUseFailure", **failed)
                task = {"prompt": "Find out how the staging database is called", "subagent_type": "Explore"}
                assert not await asked("PreToolUse", tool_name="Agent", tool_input=json.dumps(task))
                assert "heron" in await asked("SubagentStart", agent_id="a1", agent_type="Explore")
                assert not await asked("PreToolUse", tool_name="Read", tool_input="[[[")
                assert [entry.kind for entry in last_week()] == ["error"]
                assert "answer_hook" not in {tool.name for tool in (await client.list_tools()).tools}

    anyio.run(run)


def test_the_plugin_of_claude_code_has_the_hooks_that_install_writes() -> None:
    """With its own command."""
    host = HOSTS["claude-code"]
    file = PLUGINS / "plugins" / "memotherm" / "hooks" / "hooks.json"
    command = "memotherm hook --client claude --project auto --user auto"
    wanted = {name: [host.hook_entry(command, name)] for name in host.events}
    assert json.loads(file.read_text("utf-8"))["hooks"] == wanted


def test_doctor_knows_hooks_that_are_missing_or_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installation of an earlier version has no hooks for tools."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "data"))
    host = HOSTS["claude-code"]
    for change in plan(host, InstallRequest()).changes:
        carry_out(change, uninstall=False)
    assert differing_hooks(host) == {}
    file = tmp_path / ".claude" / "settings.json"
    values = json.loads(file.read_text("utf-8"))
    del values["hooks"]["PreToolUse"]
    values["hooks"]["PostToolUseFailure"][0]["matcher"] = "*"
    file.write_text(json.dumps(values), "utf-8")
    assert differing_hooks(host) == {"PreToolUse": "missing", "PostToolUseFailure": "changed"}


def test_nothing_is_recalled_for_a_turn_that_the_host_began(work: Path) -> None:
    """Claude Code sends the result of a subagent as a prompt."""
    variables = {**environment(work.parent / "home"), "MEMOTHERM_EMBEDDER": "none"}

    def run(prompt: str) -> str:
        given = json.dumps({"hook_event_name": "UserPromptSubmit", "cwd": str(work), "prompt": prompt})
        words = [sys.executable, "-m", "memotherm", "hook", "--client", "claude", "--project", "p", "--no-worker"]
        return subprocess.run(
            [*words, "--deadline", "60"], input=given, capture_output=True, text=True, env=variables, cwd=work
        ).stdout

    about = "what writes src/api.ts, pnpm codegen?"
    assert not run(f"<task-notification>{about}</task-notification>")
    assert RULE in run(about)
