"""Installing into other programs' settings: our entries in, our entries out, everything else as it was."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memotherm import Settings
from memotherm.cli import app, exit_codes
from memotherm.hooks.hosts import HOSTS
from memotherm.hooks.install import missing_programs

_TASK_DAYS, _DECISION_DAYS = Settings().task_cold_after_days, Settings().decision_cold_after_days
CLIENTS = ("claude-code", "codex", "gemini", "cursor", "openclaw", "opencode", "claude-desktop")
FILES = {
    "claude-code": (".claude/settings.json", ".claude.json"),
    "codex": (".codex/hooks.json", ".codex/config.toml"),
    "gemini": (".gemini/settings.json",),
    "cursor": (".cursor/hooks.json", ".cursor/mcp.json"),
    "openclaw": (),
    "opencode": (),
    "claude-desktop": (".config/Claude/claude_desktop_config.json",),
}
FOREIGN: dict[str, Any] = {
    "theme": "dark",
    "hooks": {
        "SessionStart": [{"matcher": "startup", "hooks": [{"type": "command", "command": "echo memotherm hooks"}]}],
        "PreToolUse": [{"hooks": [{"type": "command", "command": "lint"}]}],
        "Odd": "not a list",
    },
    "mcpServers": {"other": {"command": "other", "args": ["mcp"]}},
    "ünïcode": "wörter",
}
TOML = 'model = "gpt-5"  # the best\n\n[mcp_servers.other]\ncommand = "other"\n'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own, and a project in it."""
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "data"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path


@pytest.fixture
def install(home: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., dict[str, Any]]:
    """Run `memotherm install ... --json`, which must succeed."""

    def run(*arguments: str) -> dict[str, Any]:
        capsys.readouterr()
        code = app.run(["install", *arguments, "--json"])
        seen = capsys.readouterr()
        assert code == exit_codes.OK, seen.err
        result: dict[str, Any] = json.loads(seen.out)
        return result

    return run


def files(home: Path) -> dict[str, str]:
    """Return every file below a folder but the backups."""
    found = (path for path in home.rglob("*") if path.is_file() and path.parent.name != "backups")
    return {str(path.relative_to(home)): path.read_bytes().decode() for path in found}


def with_foreign_settings(home: Path, client: str) -> None:
    for name in FILES[client]:
        path = home / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(TOML if name.endswith("toml") else json.dumps(FOREIGN, indent=4, ensure_ascii=False), "utf-8")


@pytest.mark.parametrize("client", CLIENTS)
def test_a_dry_run_changes_nothing(client: str, home: Path, install: Callable[..., dict[str, Any]]):
    """The difference is shown, and every file stays."""
    with_foreign_settings(home, client)
    before = files(home)

    result = install(client, "--dry-run")

    assert result["diff"]
    assert files(home) == before
    assert not list(home.rglob("*.backup"))


@pytest.mark.parametrize("client", CLIENTS)
def test_installing_twice_is_installing_once(client: str, home: Path, install: Callable[..., dict[str, Any]]):
    """The second run has nothing to change."""
    with_foreign_settings(home, client)
    first = install(client)
    after = files(home)

    again = install(client)

    assert first["changed"]
    assert again["changed"] == []
    assert files(home) == after


@pytest.mark.parametrize("client", CLIENTS)
def test_uninstalling_leaves_what_was_there(client: str, home: Path, install: Callable[..., dict[str, Any]]):
    """Foreign entries are the same before, between and after, down to the last byte where we touched nothing."""
    with_foreign_settings(home, client)
    before = files(home)
    install(client)
    between = files(home)
    install(client, "--uninstall")

    assert files(home) == before
    for name in FILES[client]:
        if name.endswith("json"):
            values = json.loads(between[name])
            assert values["theme"] == "dark"
            assert values["hooks"]["PreToolUse"][:1] == FOREIGN["hooks"]["PreToolUse"]
            assert values["hooks"]["SessionStart"][0] == FOREIGN["hooks"]["SessionStart"][0]
            assert values["mcpServers"]["other"] == FOREIGN["mcpServers"]["other"]
        else:
            assert between[name].startswith(TOML)


@pytest.mark.parametrize("client", CLIENTS)
def test_uninstalling_from_nothing_leaves_nothing(client: str, home: Path, install: Callable[..., dict[str, Any]]):
    """Files that were made for our entries alone are gone with them."""
    assert install(client, "--uninstall")["changed"] == []
    install(client)
    install(client, "--uninstall")

    assert files(home) == {}


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini"])
def test_a_new_installation_replaces_the_old_one(client: str, home: Path, install: Callable[..., dict[str, Any]]):
    """Other options, or another place of the program: one entry per event, the new one."""
    install(client, "--shared")
    install(client, "--store", "agent db.sqlite", "--no-capture")

    text = (home / FILES[client][0]).read_text("utf-8")
    hooks = json.loads(text)["hooks"]
    for event, groups in hooks.items():
        assert [len(group["hooks"]) for group in groups] == [1], event
    words = shlex.split(hooks["SessionStart"][0]["hooks"][0]["command"])
    store = str(home / "project" / "agent db.sqlite")
    assert words[-7:] == ["--store", store, "--project", "auto", "--user", "auto", "--no-capture"]
    assert install(client, "--uninstall")["changed"]
    assert files(home) == {}


@pytest.mark.parametrize("client", ["claude-code", "codex", "gemini"])
def test_the_command_has_its_absolute_path(client: str, home: Path, install: Callable[..., dict[str, Any]]):
    """Hosts do not have our PATH."""
    install(client, "--shared")
    hooks = json.loads((home / FILES[client][0]).read_text("utf-8"))["hooks"]
    commands = {hook["command"] for groups in hooks.values() for group in groups for hook in group["hooks"]}
    (command,) = commands
    program, *rest = shlex.split(command)

    assert Path(program).is_absolute()
    assert shutil.which(program)
    assert program.startswith(str(Path(sys.executable).parent))
    assert rest[-3:-1] == ["hook", "--client"]
    assert list(hooks) == list(HOSTS[client].events)


def test_the_server_of_each_host(home: Path, install: Callable[..., dict[str, Any]]):
    """`memotherm mcp` stands where the host looks for it."""
    for client in CLIENTS:
        install(client, "--shared")

    claude = json.loads((home / ".claude.json").read_text("utf-8"))["mcpServers"]["memotherm"]
    gemini = json.loads((home / ".gemini/settings.json").read_text("utf-8"))["mcpServers"]["memotherm"]
    codex = tomllib.loads((home / ".codex/config.toml").read_text("utf-8"))["mcp_servers"]["memotherm"]
    assert {"MEMOTHERM_HOME", "MEMOTHERM_STORE", "MEMOTHERM_KEY"} <= set(codex.pop("env_vars"))
    assert claude["args"][-1] == gemini["args"][-1] == codex["args"][-1] == "mcp"
    assert claude["command"] == gemini["command"] == codex["command"]
    cursor = json.loads((home / ".cursor/mcp.json").read_text("utf-8"))["mcpServers"]["memotherm"]
    desktop = json.loads((home / ".config/Claude/claude_desktop_config.json").read_text("utf-8"))["mcpServers"]
    opencode = json.loads((home / ".config/opencode/opencode.json").read_text("utf-8"))["mcp"]["memotherm"]
    assert cursor == desktop["memotherm"] == gemini
    assert opencode == {"type": "local", "command": [gemini["command"], *gemini["args"]]}


def test_the_skill_comes_with_the_hooks(home: Path, install: Callable[..., dict[str, Any]]):
    """Under our own name, where Claude Code and Codex look for skills."""
    install("claude-code")
    install("codex", "--scope", "project")

    for folder in (home / ".claude", home / "project" / ".agents"):
        skill = (folder / "skills" / "memotherm" / "SKILL.md").read_text("utf-8")
        assert skill.startswith("---\nname: memotherm\ndescription: ")


@pytest.mark.parametrize(
    ("settings", "text"),
    [
        (
            {},
            f"after {_TASK_DAYS:g} days and decisions after {_DECISION_DAYS:g} days",
        ),
        ({"task_cold_after_days": "1", "decision_cold_after_days": "0.5"}, "after 1 day and decisions after 0.5 days"),
        ({"task_cold_after_days": "0", "decision_cold_after_days": "365"}, "at once and decisions after 365 days"),
    ],
)
def test_the_skill_has_the_days_of_the_settings(
    settings: dict[str, str],
    text: str,
    home: Path,
    install: Callable[..., dict[str, Any]],
    monkeypatch: pytest.MonkeyPatch,
):
    """When tasks and decisions go cold by themselves; another installation writes what was changed since."""
    install("claude-code")
    for name, value in settings.items():
        monkeypatch.setenv(f"MEMOTHERM_{name.upper()}", value)
    install("claude-code")
    skill = (home / ".claude" / "skills" / "memotherm" / "SKILL.md").read_text("utf-8")
    assert f"go there by themselves {text};" in skill


def test_claude_desktop_has_no_settings_of_a_project(home: Path, capsys: pytest.CaptureFixture[str]):
    """The error says what to leave out."""
    assert app.run(["install", "claude-desktop", "--scope", "project"]) != exit_codes.OK
    assert "--scope project" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], ["--project", "auto", "--user", "auto"]),
        (["--shared"], []),
        (["--project", "shop", "--user", "ana"], ["--project", "shop", "--user", "ana"]),
    ],
)
def test_each_project_has_its_own_memory_unless_it_is_shared(
    options: list[str], expected: list[str], home: Path, install: Callable[..., dict[str, Any]]
):
    """Hooks and server get the same scope."""
    install("claude-code", *options)
    hooks = json.loads((home / ".claude/settings.json").read_text("utf-8"))["hooks"]
    server = json.loads((home / ".claude.json").read_text("utf-8"))["mcpServers"]["memotherm"]
    words = shlex.split(hooks["Stop"][0]["hooks"][0]["command"])

    assert words[words.index("claude") + 1 :] == expected
    assert server["args"][server["args"].index("mcp") + 1 :] == expected


def test_a_project_has_its_own_files(home: Path, install: Callable[..., dict[str, Any]]):
    """`--scope project` writes into the folder, and nowhere else."""
    for client in ("claude-code", "codex", "gemini", "cursor", "opencode"):
        install(client, "--scope", "project")

    assert sorted(files(home)) == [
        "project/.agents/skills/memotherm/SKILL.md",
        "project/.claude/settings.json",
        "project/.claude/skills/memotherm/SKILL.md",
        "project/.codex/config.toml",
        "project/.codex/hooks.json",
        "project/.cursor/hooks.json",
        "project/.cursor/mcp.json",
        "project/.gemini/settings.json",
        "project/.mcp.json",
        "project/.opencode/plugin/memotherm.js",
        "project/.opencode/plugin/memotherm.json",
        "project/opencode.json",
    ]


@pytest.mark.parametrize(
    ("runner", "program"),
    [
        ("path", ["memotherm"]),
        ("uvx", ["uvx", "--from", "memotherm[mcp]", "memotherm"]),
        ("pipx", ["pipx", "run", "--spec", "memotherm[mcp]", "memotherm"]),
    ],
)
def test_the_files_of_a_project_work_for_everybody(
    runner: str, program: list[str], home: Path, install: Callable[..., dict[str, Any]]
):
    """They contain a command that everybody has, no path of this machine, and no backup lies beside them."""
    for client in ("claude-code", "codex", "gemini"):
        install(client, "--scope", "project", "--run-with", runner)
        install(client, "--scope", "project", "--run-with", runner, "--store", "team.db")
    text = "".join(files(home).values())

    assert str(home) not in text
    assert str(Path(sys.executable).parent) not in text
    hooks = json.loads((home / "project/.claude/settings.json").read_text("utf-8"))["hooks"]
    server = json.loads((home / "project/.mcp.json").read_text("utf-8"))["mcpServers"]["memotherm"]
    assert shlex.split(hooks["Stop"][0]["hooks"][0]["command"])[: len(program) + 1] == [*program, "hook"]
    assert [server["command"], *server["args"]][: len(program) + 1] == [*program, "mcp"]
    assert not list((home / "project").rglob("*backup*"))
    for client in ("claude-code", "codex", "gemini"):
        install(client, "--scope", "project", "--uninstall")
    assert files(home) == {}


def test_options_of_an_installation_are_honoured_or_refused(home: Path, install: Callable[..., dict[str, Any]]):
    """A runner works for a user as well, and a shared memory has no project."""
    install("gemini", "--run-with", "uvx")

    assert (
        json.loads((home / ".gemini/settings.json").read_text("utf-8"))["mcpServers"]["memotherm"]["command"] == "uvx"
    )
    assert app.run(["install", "gemini", "--shared", "--project", "shop"]) == exit_codes.USAGE


TEXTS = {
    "comments": '// mine\n{\n\t"theme": "dark", // as I like it\n\t"list": [1, 2,\t3], /* last */\n}\n',
    "a comment in the last line": '{\n  "hooks": {\n    "Stop": [] // none yet\n  } // end\n}',
    "Windows": '\ufeff{\r\n    "theme": "dark"\r\n}\r\n',
    "one line": '{"theme":"dark","hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}',
    "empty": "{\n}\n",
    "blank": "\n",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_file_keeps_its_form(text: str, home: Path, install: Callable[..., dict[str, Any]]):
    """Comments, order and spaces stay while our entries are in, and every byte is as before when they are out."""
    settings = home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_bytes(text.encode())
    install("gemini")
    install("gemini", "--no-capture")

    between = settings.read_bytes().decode()
    for line in text.splitlines():
        assert line.strip(" \t}]").replace(",", "") in between.replace(",", "")
    assert between.count("\r\n") == (between.count("\n") if "\r" in text else 0)
    install("gemini", "--uninstall")
    assert settings.read_bytes() == text.encode()


def test_what_was_changed_after_the_installation_stays(home: Path, install: Callable[..., dict[str, Any]]):
    """Only our entries are removed, from the text as it is now."""
    settings = home / ".gemini" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(TEXTS["comments"], "utf-8")
    install("gemini")
    settings.write_text(settings.read_text("utf-8").replace('"dark"', '"light"'), "utf-8")
    install("gemini", "--uninstall")

    assert settings.read_text("utf-8") == TEXTS["comments"].replace('"dark"', '"light"')


@pytest.mark.parametrize(
    ("client", "name", "text"),
    [
        ("claude-code", ".claude/settings.json", '{"theme": "dark",'),
        ("claude-code", ".claude/settings.json", "[1, 2]"),
        ("claude-code", ".claude/settings.json", '{"hooks": ["a list"]}'),
        ("claude-code", ".claude.json", '{"mcpServers": {"memotherm": {"url": "https://example.org"}}}'),
        ("gemini", ".gemini/settings.json", "// a comment\n{} {}"),
        ("codex", ".codex/hooks.json", "nonsense"),
        ("codex", ".codex/config.toml", "model = \n"),
        ("codex", ".codex/config.toml", '[mcp_servers.memotherm]\ncommand = "mine"\n'),
    ],
)
def test_what_cannot_be_read_is_left_alone(
    client: str, name: str, text: str, home: Path, capsys: pytest.CaptureFixture[str]
):
    """One clear sentence, exit 5, and not a byte of any file is changed."""
    (home / name).parent.mkdir(exist_ok=True)
    (home / name).write_text(text, "utf-8")
    before = files(home)

    assert app.run(["install", client]) == exit_codes.CONFIG
    assert "try again" in capsys.readouterr().err
    assert files(home) == before


def test_the_old_file_is_kept(home: Path, install: Callable[..., dict[str, Any]]):
    """The backup holds what was there, as private as it was."""
    with_foreign_settings(home, "gemini")
    settings = home / ".gemini/settings.json"
    settings.chmod(0o600)
    text = settings.read_text("utf-8")
    (backup,) = install("gemini")["backups"]

    assert Path(backup).is_relative_to(home / "data")
    assert Path(backup).read_text("utf-8") == text
    assert Path(backup).stat().st_mode & 0o777 == 0o600
    assert settings.stat().st_mode & 0o777 == 0o600


def test_a_link_stays_a_link(home: Path, install: Callable[..., dict[str, Any]]):
    """Settings that are kept elsewhere are changed there."""
    (home / "dotfiles").mkdir()
    (home / ".gemini").mkdir()
    (home / "dotfiles" / "gemini.json").write_text("{}", "utf-8")
    (home / ".gemini" / "settings.json").symlink_to(home / "dotfiles" / "gemini.json")
    install("gemini")

    assert (home / ".gemini" / "settings.json").is_symlink()
    assert "hooks" in json.loads((home / "dotfiles" / "gemini.json").read_text("utf-8"))


def test_another_place_for_the_settings_is_respected(
    home: Path, install: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
):
    """CLAUDE_CONFIG_DIR and CODEX_HOME say where the programs look."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    monkeypatch.setenv("CODEX_HOME", str(home / "codex"))
    install("claude-code")
    install("codex")

    assert sorted(files(home)) == [
        ".agents/skills/memotherm/SKILL.md", "codex/config.toml", "codex/hooks.json", "elsewhere/.claude.json",
        "elsewhere/settings.json", "elsewhere/skills/memotherm/SKILL.md",
    ]  # fmt: skip


def test_the_plugin_of_openclaw_knows_the_command(home: Path, install: Callable[..., dict[str, Any]]):
    """The plugin is copied with the absolute path, and the next commands are printed."""
    result = install("openclaw")
    folder = home / "data" / "openclaw-plugin"
    command = json.loads((folder / "command.json").read_text("utf-8"))["command"]

    assert Path(command[0]).is_absolute()
    assert {"index.js", "package.json", "openclaw.plugin.json"} <= {path.name for path in folder.iterdir()}
    assert any(str(folder) in step for step in result["next"])


_REGISTER = """
const { default: plugin } = await import(process.argv[1] + "/index.js");
const events = {};
let capability;
plugin.register({
  pluginConfig: {},
  registerMemoryCapability: (given) => { capability = given; },
  on: (name, handler) => { events[name] = handler; },
});
const noon = { nowMs: Date.UTC(2026, 10, 17, 12), contextWindowTokens: 200000 };
const plan = (cfg) => capability.flushPlanResolver({ cfg, ...noon });
const off = { agents: { defaults: { compaction: { memoryFlush: { enabled: false } } } } };
console.log(JSON.stringify({ plan: plan({}), off: plan(off), events: Object.keys(events) }));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_openclaw_runs_a_flush_of_its_own(home: Path, install: Callable[..., dict[str, Any]]):
    """Its plan has our thresholds and texts; it is a turn of its own, where the silent token answers nobody."""
    install("openclaw")
    folder = home / "data" / "openclaw-plugin"
    sdk = folder / "node_modules" / "openclaw" / "plugin-sdk"
    sdk.mkdir(parents=True)
    (sdk / "plugin-entry.js").write_text("export const definePluginEntry = (entry) => entry;", "utf-8")
    exports = {"./plugin-sdk/plugin-entry": "./plugin-sdk/plugin-entry.js"}
    package = json.dumps({"name": "openclaw", "type": "module", "exports": exports})
    (sdk.parent / "package.json").write_text(package, "utf-8")
    command = ["node", "--input-type=module", "--eval", _REGISTER, str(folder)]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, timeout=60).stdout)

    plan = told["plan"]
    assert (plan["softThresholdTokens"], plan["reserveTokensFloor"]) == (4000, 20_000)
    assert plan["relativePath"] == "memory/2026-11-17.md"
    assert "append it to memory/2026-11-17.md" in plan["prompt"]
    assert "near auto-compaction" in plan["systemPrompt"]
    assert told["off"] is None
    assert "before_prompt_build" in told["events"]


def test_people_see_what_is_installed_and_the_difference_on_request(home: Path, capsys: pytest.CaptureFixture[str]):
    """A dry run prints the patch; the installation the files, and last what happens from now on."""
    app.run(["install", "claude-code", "--dry-run"])
    assert '+            "command": ' in capsys.readouterr().out
    app.run(["install", "claude-code"])
    seen = capsys.readouterr()
    assert all(line.startswith("changed ") for line in seen.out.splitlines())
    assert "next: " in seen.err
    last = seen.err.splitlines()[-1]
    assert last == (
        "note: claude-code is installed: from its next session on, its prompts get memories, and what you say is stored"
    )
    app.run(["install", "claude"])
    assert "did you mean 'claude-code'?" in capsys.readouterr().err
    app.run(["install", "claude-code"])
    assert capsys.readouterr().out == "nothing to change\n"


def test_the_plugins_can_be_found(capsys: pytest.CaptureFixture[str]):
    """`plugin-dir` prints folders that hosts can install from."""
    app.run(["agent", "plugin-dir"])
    app.run(["agent", "plugin-dir", "openclaw"])
    market, openclaw = map(Path, capsys.readouterr().out.split())

    assert (market / ".claude-plugin" / "marketplace.json").is_file()
    assert (openclaw / "openclaw.plugin.json").is_file()


def test_doctor_says_which_hooks_codex_skips(
    home: Path, install: Callable[..., dict[str, Any]], capsys: pytest.CaptureFixture[str]
):
    """It skips, in silence, hooks that are not trusted by the hash of what they are now."""

    def codex() -> dict[str, str]:
        app.run(["doctor", "--json"])
        return next(each for each in json.loads(capsys.readouterr().out)["findings"] if each["name"] == "codex")

    (home / ".codex").mkdir()
    other = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "lint"}]}]}}
    (home / ".codex" / "hooks.json").write_text(json.dumps(other), "utf-8")
    install("codex")
    assert codex()["state"] == "warning"
    assert "SessionStart not trusted, UserPromptSubmit not trusted" in codex()["detail"]

    hooks = json.loads((home / ".codex" / "hooks.json").read_text("utf-8"))["hooks"]
    states = []
    for event, label in (
        ("SessionStart", "session_start"), ("UserPromptSubmit", "user_prompt_submit"), ("PreCompact", "pre_compact"),
        ("Stop", "stop"), ("SessionEnd", "session_end"), ("PreToolUse", "pre_tool_use"),
        ("PostToolUse", "post_tool_use"),
    ):  # fmt: skip
        group = hooks[event][-1]
        command, timeout = json.dumps(group["hooks"][0]["command"]), group["hooks"][0]["timeout"]
        matcher = f',"matcher":{json.dumps(group["matcher"])}' if "matcher" in group else ""
        hook = f'{{"async":false,"command":{command},"timeout":{timeout},"type":"command"}}'
        normal = f'{{"event_name":"{label}","hooks":[{hook}]{matcher}}}'
        digest = hashlib.sha256(normal.encode()).hexdigest()
        key = f"{home}/.codex/hooks.json:{label}:{len(hooks[event]) - 1}:0"
        states.append(f'[hooks.state."{key}"]\ntrusted_hash = "sha256:{digest}"\n')
    config = home / ".codex" / "config.toml"
    text = config.read_text("utf-8")
    config.write_text(text + "\n".join(states), "utf-8")
    assert codex()["state"] == "ok"

    states[0] += "enabled = false\n"
    config.write_text(text + "\n".join(states), "utf-8")
    assert codex()["detail"] == "Codex skips hooks that are installed: SessionStart switched off"
    config.write_text(text + "\n".join(states[1:]).replace("sha256:", "sha256:0", 1), "utf-8")
    assert "SessionStart not trusted, UserPromptSubmit changed since it was trusted" in codex()["detail"]


@pytest.mark.parametrize("client", ["claude-code", "codex", "cursor", "claude-desktop"])
def test_doctor_says_that_the_program_of_hooks_is_gone(
    client: str, install: Callable[..., dict[str, Any]], home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its environment was deleted, or the program was installed elsewhere."""
    install(client)
    host = HOSTS[client]
    assert missing_programs(host) == []
    for name in FILES[client]:
        path = home / name
        path.write_text(re.sub(r"[^\s\"']*/(?:memotherm|python[\d.]*)(?=[\s\"'])", "/gone/memotherm", path.read_text()))
    assert missing_programs(host) == ["/gone/memotherm"]
    capsys.readouterr()
    assert app.run(["doctor", "--json"]) != exit_codes.OK
    said = {finding["name"]: finding for finding in json.loads(capsys.readouterr().out)["findings"]}[client]
    assert (said["state"], "/gone/memotherm" in said["detail"]) == ("failure", True)
