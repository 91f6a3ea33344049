"""The names of other programs are accepted and mapped, in every interface, in settings and in imports."""

from __future__ import annotations

import contextlib
import io
import json
import re
import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from memotherm import Memotherm, tools
from memotherm.cli.app import COMMANDS, run
from memotherm.errors import InvalidInput, SettingsError
from memotherm.notes.notes import Notes
from memotherm.rest.app import application
from memotherm.session import Session
from memotherm.settings import FIELDS, Settings, load
from memotherm.settings.sources import OTHER_NAMES
from memotherm.settings.types import Boosts
from tests.helpers import ROOT, opened

Json = dict[str, Any]


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Memotherm]:
    with opened(tmp_path / "memory.db") as found:
        yield found


@pytest.fixture
def client(mem: Memotherm) -> Iterator[TestClient]:
    with TestClient(application(mem), base_url="http://127.0.0.1") as found:
        yield found


def test_tools_accept_the_names_of_the_sources(mem: Memotherm) -> None:
    """`text`, `type`, `category`, `session_id` and `include_cold` mean what ours do."""
    for name in ("type", "category", "kind"):
        arguments = {"text": f"otter {name}", name: "decision", "tier": "cold", "session_id": "s"}
        stored = tools.call(mem, "store_memory", arguments)
        assert (stored["content"], stored["kind"], stored["scope"]) == (f"otter {name}", "decision", {"session": "s"})
    added = tools.call(mem, "memory_add", {"session_id": "s", "text": "otter in a session", "category": "decision"})
    tools.call(mem, "memory_spill", {"sessionId": "s", "itemIds": [added["id"]]})
    mem.remember("otter of everyone", kind="decision", tier="cold")

    found = tools.call(mem, "memory_recall", {"query": "otter", "include_cold": True, "category": "decision"})
    assert [hit["content"] for hit in found["items"]] == ["otter of everyone"]
    assert tools.call(mem, "memory_promote", {"sessionId": "s", "itemId": added["id"]})["promoted"] is True
    with pytest.raises(InvalidInput, match="type and category mean the same"):
        tools.call(mem, "store_memory", {"content": "otter", "type": "fact", "category": "fact"})


def test_rest_accepts_the_names_of_the_sources(client: TestClient) -> None:
    """In bodies, also of a batch, and as filters of a list."""
    made = client.post("/memories", json={"text": "otter", "category": "decision", "tier": "cold", "sessionId": "s"})
    client.post("/memories:batch", json={"memories": [{"text": "walrus", "type": "preference"}]})
    changed = client.patch(f"/memories/{made.json()['id']}", json={"type": "task"}, headers=in_session("s")).json()
    recalled = client.post("/recall", json={"query": "otter", "includeCold": True, "sessionId": "s"}).json()
    queried = client.post("/memory/query", json={"query": "otter", "sessionId": "s"}).json()
    context = client.post("/context", json={"query": "otter", "includeCold": True, "sessionId": "s"}).json()

    assert (made.status_code, made.json()["kind"], made.json()["scope"]) == (201, "decision", {"session": "s"})
    assert changed["kind"] == "task"
    assert recalled["items"][0]["content"] == "otter"
    assert queried["results"][0]["content"] == "otter"
    assert "otter" in context["text"]
    for name in ("kind", "type", "category"):
        [listed] = client.get("/memories", params={name: "preference"}).json()["memories"]
        assert listed["content"] == "walrus"
    assert client.post("/memories", json={"content": "otter", "kind": "fact", "text": "walrus"}).status_code == 422
    assert client.post("/memories", json={"content": "otter", "kind": "fact", "sort": "fact"}).status_code == 422
    other = client.post("/recall", json={"query": "otter", "sessionId": "s"}, headers=in_session("t"))
    assert other.status_code == 409


def test_the_command_line_accepts_the_names_of_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As options, with dashes or in camel case; and `import jsonl` keeps the category."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")
    (tmp_path / "theirs.jsonl").write_text(
        '{"text": "A walrus sleeps", "category": "preference"}\n{"content": "A seal swims", "type": "entity"}\n'
    )

    stored = command("remember", "An otter", "--category", "decision", "--tier", "cold", "--sessionId", "s")
    command("import", "jsonl", "theirs.jsonl")

    assert (stored["kind"], stored["scope"]) == ("decision", {"session": "s"})
    for verb in ("recall", "search"):
        [hit] = command(verb, "otter", "--includeCold", "--session-id", "s")["items"]
        assert hit["id"] == stored["id"]
        assert command(verb, "otter", "--session", "s")["items"] == []
    assert run(["config", "set", "memoryTiering.hotMaxTokens", "7"]) == 0
    assert "hot_max_tokens = 7" in (tmp_path / "home" / "config.toml").read_text()
    listed = {kind: command("list", "--type", kind)["memories"][0]["content"] for kind in ("preference", "entity")}
    assert listed == {"preference": "A walrus sleeps", "entity": "A seal swims"}


def test_several_memories_are_stored_under_the_names_of_the_sources(mem: Memotherm) -> None:
    """`remember_many` takes mappings of other programs; an unknown name is still an error."""
    [memory] = mem.remember_many([{"text": "otter", "category": "preference"}])

    assert (memory.content, memory.kind) == ("otter", "preference")
    with pytest.raises(InvalidInput, match="'importance'"):
        mem.remember_many([{"text": "otter", "importance": 1}])


def test_every_setting_of_the_sources_is_read_from_a_file(tmp_path: Path) -> None:
    """Blocks of their configuration can be copied; each name sets one of our settings."""
    defaults = Settings()
    wanted = {theirs: other_value(getattr(defaults, ours)) for theirs, ours in OTHER_NAMES.items()}
    lines = [
        f"{name} = {{low = {value.low}}}" if isinstance(value, Boosts) else f"{name} = {json.dumps(value)}"
        for name, value in wanted.items()
    ]
    (tmp_path / "memotherm.toml").write_text("\n".join(lines))

    settings = load({"trust_project": True}, environ={}, folder=tmp_path)

    assert {theirs: getattr(settings, ours) for theirs, ours in OTHER_NAMES.items()} == wanted


SAMPLES = {
    "a list": """\
   - `memory.max_pinned`: 5 (limit pinned memories)
   - `memory.tier_boosts.pinned`: 1.0
   - `memory.tier_boosts.low`: -0.1
""",
    "YAML": """\
# ctx-sys.yaml
agent:
  memory:
    hotTokenLimit: 4000
    warmAccessThreshold: 3
    promoteThreshold: 0.85
    maxColdItems: 1000
    autoSpillEnabled: true
    autoPromoteEnabled: true
""",
    "JSON": '{"memoryTiering": {"enabled": true, "hotMaxTokens": 2000, "hotMaxFacts": 50}}',
    "in a sentence": "sync.onSearch: true\nexperimental.sessionMemory: false\n",
}


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_a_sample_of_a_source_says_what_to_write_and_that_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], sample: str
) -> None:
    """C28, O27: the file of a project is TOML; `config` and `doctor` work beside one that is not."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "home"))
    file = tmp_path / "memotherm.toml"
    file.write_text(sample)

    with pytest.raises(SettingsError, match=r"memotherm\.toml: .*line \d") as refused:
        load(folder=tmp_path)
    assert run(["config", "show", "--json"]) == 0
    printed = capsys.readouterr()
    assert (json.loads(printed.out)["max_pinned"], "memotherm.toml" in printed.err) == (5, True)
    assert run(["doctor"]) == 1
    assert "memotherm.toml" in capsys.readouterr().out.replace("\n", "")
    assert run(["config", "set", "max_pinned", "4"]) == 0

    lines = str(refused.value).partition("so write ")[2].split("; ")
    assert len(lines) == len(re.findall(r"(?:true|false|\d)[ ,}\n]", sample))
    file.write_text("\n".join(lines))
    assert load(folder=tmp_path) == load({"max_pinned": 5 if "max_pinned" in sample else 4}, project=False)


@pytest.mark.parametrize(
    "text", [f"x = {'[' * 2000}{']' * 2000}", f"a{'.a' * 2000} = 1", "[" * 2000, 'max_pinned = "x"']
)
def test_no_file_disables_config_and_doctor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    """However it is broken: other commands say that they cannot read it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "home"))
    (tmp_path / "memotherm.toml").write_text(text)

    assert [run(words.split()) for words in ("config show", "config set max_pinned 5", "doctor")] == [0, 0, 1]
    with pytest.raises(SettingsError):
        load(folder=tmp_path)


def test_camel_case_settings_are_read_and_mistakes_are_told(tmp_path: Path) -> None:
    """Without a block as well; a setting that is given twice, or is unknown, is an error that names it."""
    assert load({"hotMaxTokens": 7}, environ={}, folder=tmp_path).hot_max_tokens == 7
    assert load({"memoryTiering": {"hotMaxTokens": 8}}, environ={}, folder=tmp_path).hot_max_tokens == 8
    with pytest.raises(SettingsError, match="hot_max_tokens twice"):
        load({"hot_max_tokens": 7, "memoryTiering": {"hotMaxTokens": 8}}, environ={}, folder=tmp_path)
    with pytest.raises(SettingsError, match=r"unknown setting 'memoryTiering\.hotMaxTonkens'"):
        load({"memoryTiering": {"hotMaxTonkens": 8}}, environ={}, folder=tmp_path)


def test_the_table_of_names_maps_to_what_there_is() -> None:
    """Each tool, method, command, setting and metric that the page names exists."""
    build = runpy.run_path(str(ROOT / "docs" / "build.py"))
    page = (ROOT / "docs" / "reference" / "names.md").read_text("utf-8")
    methods = [re.findall(r"`([\w.]+)`", ours)[0] for ours in build["_OTHERS"]["Methods"].values()]
    owners: dict[str, type] = {"session": Session, "notes": Notes}

    for name in methods:
        owner, _, verb = name.rpartition(".")
        assert callable(getattr(owners.get(owner, Memotherm), verb)), name
    assert {command.split()[0] for *_, command, _, _, _ in build["_CALLS"].values()} <= set(COMMANDS)
    assert set(OTHER_NAMES.values()) <= set(FIELDS)
    # A parameter that no interface of ours takes would have an empty cell.
    assert [line for line in page.splitlines() if line.startswith("| | ") and line.count("| - ") > 1] == []
    assert set(build["_PROMETHEUS"]) <= set(re.findall(r"`(memory_\w+)`", page))


def in_session(session: str) -> dict[str, str]:
    return {"memotherm-scope": f"session={session}"}


def other_value(default: Any) -> Any:
    """Return a valid value that is not the default."""
    if isinstance(default, bool):
        return not default
    if isinstance(default, Boosts):
        return default._replace(low=-0.5)
    return default + 16 if isinstance(default, int) else round(default / 2 + 0.01, 3)


def command(*arguments: str) -> Any:
    """Run a command with `--json` and return what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        assert run([*arguments, "--store", "memory.db", "--json"]) == 0
    return json.loads(printed.getvalue())


@pytest.mark.parametrize("text", ["👍", "…", "🎉🎉", "𠮷", "— ‹ok›"])
def test_a_text_of_any_characters_is_one(client: TestClient, text: str) -> None:
    """Emoji, punctuation and rare ideographs are no blank text, in a memory, a question and a prompt."""
    assert client.post("/memories", json={"content": text}).json()["status"] == "skipped"
    assert client.post("/memories", json={"content": text, "force": True}).json()["content"] == text
    assert client.post("/recall", json={"query": text}).status_code == 200
    assert client.post("/sessions/s/context", json={"prompt": text}).status_code == 200
    for blank in ("\u2003", "\u2028", "\u3000", " \t"):
        assert client.post("/memories", json={"content": blank}).status_code == 422
