"""The MCP server: its tools and results, in both versions of the protocol and over stdio."""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client, MCPError, StdioServerParameters

import memotherm
from memotherm import Memotherm, Scope
from memotherm.errors import SettingsError
from memotherm.mcp import server
from memotherm.mcp.results import encoded
from memotherm.mcp.server import CORE, build
from memotherm.testing import FakeClock
from memotherm.text.tokens import count_tokens
from memotherm.tools import TOOLS
from tests.helpers import opened, python
from tests.interfaces.served import environment

MODES = ["auto", "legacy"]
SEEDS = {
    "memory_add": {"sessionId", "content", "type"},
    "memory_recall": {"query"},
    "memory_spill": {"sessionId"},
    "memory_status": set(),
    "memory_search": {"query"},
    "memory_get": {"path"},
    "store_memory": {"content"},
    "set_memory_tier": {"memory_id", "tier"},
    "pin_memory": {"memory_id"},
    "unpin_memory": {"memory_id"},
    "memory_forget": {"memory_id"},
    "memory_context": set(),
}


@pytest.fixture
def mem(tmp_path: Path) -> Any:
    with opened(tmp_path / "memory.db") as found:
        yield found
        assert found.check() == []


def talk(mem: Memotherm, act: Callable[[Client], Awaitable[Any]], mode: str = "auto", *, tools: Any = ("all",)) -> Any:
    """Let a client talk to the server in this process, and return what it brings back."""

    async def run() -> Any:
        async with Client(build(mem, tools), mode=mode) as client:
            return await act(client)

    return anyio.run(run)


def called(mem: Memotherm, name: str, **arguments: Any) -> Any:
    async def act(client: Client) -> Any:
        return await client.call_tool(name, arguments)

    answer = talk(mem, act)
    assert not answer.is_error, answer.content[0].text
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.structured_content


def refused(mem: Memotherm, name: str, **arguments: Any) -> Any:
    async def act(client: Client) -> Any:
        return await client.call_tool(name, arguments)

    answer = talk(mem, act)
    assert answer.is_error
    return answer.content[0].text


async def listed(client: Client) -> list[Any]:
    return (await client.list_tools()).tools


@pytest.mark.parametrize("mode", MODES)
def test_the_list_of_tools_is_complete_and_cheap(mem: Memotherm, mode: str) -> None:
    """Titles, all four hints, schemas of both sides; at most 4,200 tokens for all, 1,900 by default, 1,200 for core."""
    tools = talk(mem, listed, mode)
    default = talk(mem, listed, mode, tools=None)

    assert [tool.name for tool in tools] == list(TOOLS)
    for tool in tools:
        hints = tool.annotations.model_dump(exclude_none=True)
        assert set(hints) == {"read_only_hint", "destructive_hint", "idempotent_hint", "open_world_hint"}
        assert tool.title
        assert tool.description
        assert tool.output_schema["type"] == "object"
    for some, most in ((tools, 5000), (default, 1900), ([tool for tool in tools if tool.name in CORE], 1199)):
        text = json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in some])
        assert count_tokens(json.dumps(json.loads(text), separators=(",", ":"))) <= most


def test_the_tools_of_the_sources_have_their_required_fields_and_defaults(mem: Memotherm) -> None:
    """Hosts that know the names can call them as they are used to."""
    tools = {tool.name: tool.input_schema for tool in talk(mem, listed, tools=None)}

    assert {name: set(tools[name].get("required", ())) for name in SEEDS} == SEEDS
    assert tools["memory_search"]["properties"]["maxResults"]["default"] == 6
    assert tools["memory_search"]["properties"]["minScore"]["default"] == 0.35
    assert tools["memory_spill"]["properties"]["count"]["default"] == 4
    assert {"from", "lines"} <= set(tools["memory_get"]["properties"])
    assert {"limit", "autoPromote", "includeCold"} <= set(tools["memory_recall"]["properties"])


@pytest.mark.parametrize("mode", MODES)
def test_closed_sets_and_defaults_are_in_the_schemas(mem: Memotherm, mode: str) -> None:
    """C03, C27: what a host may choose from is an enum, and what it may leave out has a default or says it."""
    schemas = {tool.name: tool.input_schema["properties"] for tool in talk(mem, listed, mode)}
    tiers, priorities = ["hot", "warm", "cold"], ["pinned", "critical", "important", "normal", "low"]

    assert set(schemas["memory_add"]["type"]["examples"]) >= {"message", "fact", "decision", "entity", "context"}
    assert schemas["store_memory"]["tier"]["enum"] == schemas["set_memory_tier"]["tier"]["enum"] == tiers + priorities
    assert schemas["store_memory"]["priority"]["enum"] == priorities
    assert (schemas["memory_demote"]["tier"]["enum"], schemas["memory_demote"]["tier"]["default"]) == (
        ["warm", "cold"], "warm",
    )  # fmt: skip
    assert (schemas["store_memory"]["kind"]["default"], schemas["store_memory"]["tags"]["default"]) == ("fact", [])
    assert schemas["memory_recall"]["includeCold"]["default"] is False
    limit, promote = schemas["memory_recall"]["limit"], schemas["memory_recall"]["autoPromote"]
    assert (limit["default"], limit["description"]) == (10, "3 with sessionId")
    assert (promote["default"], promote["description"]) == (False, "true with sessionId")
    assert schemas["memory_find"]["limit"] == {"type": "integer", "default": 20}


def test_numbers_and_names_are_read_as_hosts_write_them(mem: Memotherm) -> None:
    """C27: 1.0 is a whole number, a priority may be a number, and names may be in capitals; 1.5 is refused."""
    stored = called(mem, "store_memory", content="first line\nsecond line", tier=1.0)
    moved = called(mem, "set_memory_tier", memory_id=stored["id"], tier="HOT")
    for number in range(3):
        called(mem, "memory_add", sessionId="s", content=f"turn {number}", type="message")

    assert (stored["priority"], moved["tier"]) == ("critical", "hot")
    assert len(called(mem, "memory_recall", query="line", limit=1.0)["items"]) == 1
    assert called(mem, "memory_get", path=stored["id"], **{"from": 2.0, "lines": 1.0})["content"] == "second line"
    assert called(mem, "memory_spill", sessionId="s", count=2.0)["spilledCount"] == 2
    assert called(mem, "memory_undo", event=float(moved["version"]))["tier"] == stored["tier"]
    assert "1.5" in refused(mem, "memory_recall", query="line", limit=1.5)
    assert "'lukewarm'" in refused(mem, "set_memory_tier", memory_id=stored["id"], tier="lukewarm")


def test_an_agent_undoes_what_it_has_forgotten_by_the_version_in_the_result(mem: Memotherm) -> None:
    """Of many memories as of one; `run` takes all back by the version of one of them."""
    for number in range(3):
        mem.remember(f"barge {number} is late", kind="barge")
    gone = called(mem, "memory_forget_many", kind="barge", dryRun=False)["memories"]
    assert mem.count(kind="barge") == 0

    undone = called(mem, "memory_undo_many", events=[gone[0]["version"]], run=True)

    assert (len(undone["memories"]), undone["skipped"], mem.count(kind="barge")) == (3, [], 3)
    called(mem, "memory_undo", event=undone["memories"][0]["version"])
    assert mem.count(kind="barge") == 2


def test_an_agent_can_do_what_the_status_of_a_session_suggests(mem: Memotherm) -> None:
    """C44: demote, keep, prune, clear, end and compact; a session that has not begun is an error."""
    session = mem.session("s")
    first, second, third = (session.add(f"turn {number} of the talk") for number in range(3))
    blocker = mem.remember("the build is broken", tags=["blocker"])

    demoted = called(mem, "memory_demote", sessionId="s", memory_id=first.id, tier="cold")
    kept = called(mem, "memory_keep", sessionId="s", memory_id=second.id)
    pruned = called(mem, "memory_prune", sessionId="s", keep=0)
    cleared = called(mem, "memory_clear", sessionId="s")
    ended = called(mem, "memory_end", sessionId="s", summary="we talked")
    compacted = called(mem, "memory_compact", dryRun=True)

    assert (demoted["tier"], kept["scope"], pruned["pruned"], cleared["cleared"]) == ("cold", {}, [first.id], 1)
    assert mem.session("s").memory.get(third.id).retention == "deleted"
    assert [move["id"] for move in ended["compaction"]["moves"]] == [blocker.id, second.id]
    assert (mem.inspect.session("s").state, compacted["moves"]) == ("summarized", [])
    for name in ("memory_prune", "memory_clear", "memory_end"):
        assert "not_found" in str(refused(mem, name, sessionId="nobody"))


def test_the_status_of_a_session_has_its_six_metrics(mem: Memotherm) -> None:
    """C38: utilisation, spills, recalls, promotions, latency and hit rate of one session, without those of others."""
    for session in ("s", "other"):
        made = called(mem, "memory_add", sessionId=session, content="The budget is $50K", type="fact")
        called(mem, "memory_spill", sessionId=session, ids=[made["id"]])
    called(mem, "memory_recall", sessionId="s", query="budget", autoPromote=False)
    called(mem, "memory_promote", sessionId="s", memory_id=mem.session("s").recall("budget")[0].memory.id)

    metrics = called(mem, "memory_status", sessionId="s")["metrics"]

    assert metrics.keys() == {
        "memory_hot_utilization", "memory_spill_count", "memory_recall_count", "memory_promotion_count",
        "memory_recall_latency_ms", "memory_hit_rate",
    }  # fmt: skip
    assert (metrics["memory_spill_count"], metrics["memory_recall_count"]) == (1, 2)
    assert metrics["memory_promotion_count"] == 1
    assert metrics["memory_recall_latency_ms"] > 0
    assert called(mem, "memory_status", sessionId="other")["metrics"]["memory_recall_count"] == 0
    assert called(mem, "memory_status")["metrics"]["memory_recall_count"] == 2


def test_a_host_may_choose_its_tools(mem: Memotherm) -> None:
    """The tools of the sources by default, fewer, all, some names, or everything behind one tool."""
    assert {tool.name for tool in talk(mem, listed, tools=None)} == {*SEEDS, "memory_undo"}
    assert {tool.name for tool in talk(mem, listed, tools=["core"])} == set(CORE)
    some = talk(mem, listed, tools=["memory_recall", "store_memory"])
    assert [tool.name for tool in some] == ["memory_recall", "store_memory"]
    assert [tool.name for tool in talk(mem, listed, tools=["one"])] == ["memory"]
    with pytest.raises(SettingsError, match="unknown tool 'memory_teleport'"):
        build(mem, ["memory_teleport"])

    async def act(client: Client) -> Any:
        return await client.call_tool("memory", {"action": "store_memory", "arguments": {"content": "an otter swims"}})

    assert talk(mem, act, tools=["one"]).structured_content["content"] == "an otter swims"


@pytest.mark.parametrize("mode", MODES)
def test_resources_and_prompts_show_memories(mem: Memotherm, mode: str) -> None:
    """As Markdown; an unknown one is an error of the protocol that names it."""
    memory = mem.remember("Otters hold hands while they sleep", tier="hot")

    async def act(client: Client) -> Any:
        one = (await client.read_resource(f"memory://{memory.id}")).contents[0]
        hot = (await client.read_resource("memory://hot")).contents[0]
        recall: Any = await client.get_prompt("recall", {"topic": "otters"})
        flush: Any = await client.get_prompt("flush", {})
        with pytest.raises(MCPError) as missing:
            await client.read_resource("memory://mem_00000000000000000000000000")
        return one, hot, recall.messages[0].content.text, flush.messages[0].content.text, missing.value

    one, hot, recall, flush, missing = talk(mem, act, mode)
    assert one.mime_type == hot.mime_type == "text/markdown"
    assert "Otters hold hands" in one.text
    assert "- tier: hot" in one.text
    assert "Otters hold hands" in hot.text
    assert "Otters hold hands" in recall
    assert "NO_REPLY" in flush
    assert missing.error.code == -32602


def test_what_is_wrong_with_a_call_is_told_to_the_model(mem: Memotherm) -> None:
    """With a code; and nothing is written."""
    assert "[invalid_input]" in refused(mem, "store_memory", content=3)
    assert "[invalid_input]" in refused(mem, "store_memory")
    assert "has no parameter 'colour'" in refused(mem, "store_memory", content="an otter", colour="red")
    assert "[not_found]" in refused(mem, "pin_memory", memory_id="mem_none")
    assert "[invalid_input]" in refused(mem, "set_memory_tier", memory_id="x", tier="lukewarm")
    assert mem.status().seq == 0


def test_an_answer_has_a_limit_and_says_what_it_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However much is stored, and however long it is."""
    monkeypatch.setattr(server, "RESULT_TOKENS", 1000)
    with opened(tmp_path / "memory.db") as mem:
        for number in range(30):
            mem.remember(f"otter {number} " + "swims in the river with the other otters " * 100)

        answer = called(mem, "memory_recall", query="otter river", limit=30)
        one = called(mem, "memory_get", path=answer["items"][0]["id"])

        assert count_tokens(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) <= 1000
        assert answer["leftOut"] == 30 - len(answer["items"]) > 0
        assert answer["items"][0]["cut"] > 0
        assert count_tokens(json.dumps(one, ensure_ascii=False, separators=(",", ":"))) <= 1000
        assert one["cut"] > 0


def test_a_hit_has_its_id_tier_score_date_content_and_what_is_not_default(mem: Memotherm) -> None:
    """A recall costs little more than the contents and ids of its hits; memory_get returns the other fields."""
    for number in range(10):
        mem.remember(f"The otter number {number} of the zoo swims in the river on day {number} with its friends")
    special = mem.remember("The otter Holly of the zoo swims in the river", kind="preference", tags=["zoo"])
    answer = called(mem, "memory_recall", query="otter river", limit=11)
    hits = {hit["id"]: hit for hit in answer["items"]}
    one = hits.pop(special.id)

    every = {"id", "tier", "score", "date", "content"}
    assert set(answer) == {"items", "promoted", "confidence", "tiers", "limit", "autoPromote"}
    assert (answer["tiers"], answer["limit"], answer["autoPromote"]) == (["hot", "warm"], 11, False)
    assert all(set(hit) == every for hit in hits.values())
    assert (set(one) - every, one["kind"], one["tags"]) == ({"kind", "tags"}, "preference", ["zoo"])
    assert one["date"] == f"{special.updated_at:%Y-%m-%d}"
    assert called(mem, "memory_get", path=special.id)["created_at"]
    contents = [text for hit in answer["items"] for text in (hit["content"], hit["id"])]
    assert count_tokens(encoded(answer)) <= 1.9 * sum(count_tokens(text) for text in contents)


def test_metadata_tags_and_lists_of_ids_count_towards_the_limit_of_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every part of an answer is cut when it is too long, and the memory can still be recognised."""
    monkeypatch.setattr(server, "RESULT_TOKENS", 500)
    with opened(tmp_path / "memory.db") as mem:
        metadata = {f"field {number}": f"value {number} of many" for number in range(1000)}
        memory = mem.remember("The otter swims", metadata=metadata, tags=[f"tag-{number}" for number in range(30)])
        session = mem.session("s1")
        for number in range(200):
            session.add(f"turn {number} of a conversation about otters")
        answers = [
            called(mem, "memory_get", path=memory.id),
            called(mem, "memory_recall", query="otter swims"),
            called(mem, "memory_spill", sessionId="s1", count=150),
        ]

        for answer in answers:
            assert count_tokens(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))) <= 500
        assert (answers[0]["id"], answers[0]["content"]) == (memory.id, "The otter swims")
        assert answers[0]["cut"] > 0
        assert answers[1]["items"][0]["id"] == memory.id
        assert 0 < len(answers[2]["spilledIds"]) < 150


def test_notes_are_searched_and_read_where_there_are_some(tmp_path: Path) -> None:
    """By the seed's names; a path that leads out of the folder is refused."""
    folder = tmp_path / "workspace"
    (folder / "memory").mkdir(parents=True)
    (folder / "memory" / "2026-01-26.md").write_text("# Otters\n\nThe otter Holly likes the river.\n")
    with opened(tmp_path / "memory.db", settings={"notes_root": str(folder)}) as mem:
        (found,) = called(mem, "memory_search", query="Holly the otter")["results"]
        text = called(mem, "memory_get", **{"path": found["path"], "from": 3, "lines": 1})

        assert found["citation"].startswith("memory/2026-01-26.md#L")
        assert found["date"] == "2026-01-26"
        assert text["text"] == "The otter Holly likes the river."
        assert "[" in refused(mem, "memory_get", path="../../etc/passwd")


@pytest.mark.parametrize(
    ("setting", "chat", "shown"),
    [("auto", "direct", True), ("auto", "group", False), ("on", "group", True), ("off", "direct", False)],
)
def test_a_search_of_notes_shows_citations_as_the_chat_and_the_setting_say(
    tmp_path: Path, setting: str, chat: str, shown: bool
) -> None:
    """O23: hidden in groups unless the setting says otherwise; path and lines are always there."""
    (tmp_path / "MEMORY.md").write_text("The otter Holly likes the river.\n")
    settings = {"notes_root": str(tmp_path), "citations": setting}
    with opened(tmp_path / "memory.db", settings=settings) as mem:
        answer = called(mem, "memory_search", query="Holly the otter", chat=chat)

    [found] = answer["results"]
    assert (found["path"], found["startLine"]) == ("MEMORY.md", 1)
    assert (answer["citations"], "citation" in found) == (shown, shown)


def test_without_notes_the_search_finds_memories(mem: Memotherm) -> None:
    """And its path is what memory_get reads."""
    mem.remember("The otter Holly likes the river", tier="cold")

    (found,) = called(mem, "memory_search", query="Holly the otter")["results"]

    assert found["date"] == called(mem, "memory_get", path=found["path"])["updated_at"][:10]
    assert called(mem, "memory_get", path=found["path"])["content"] == "The otter Holly likes the river"
    assert called(mem, "memory_get", id=found["path"])["tier"] == "cold"
    assert "notes_root" in refused(mem, "memory_get", path="memory/2026-01-26.md")


def test_filler_is_skipped_with_a_status(mem: Memotherm) -> None:
    """An agent that stores every turn does not fill the memory with thanks."""
    assert called(mem, "store_memory", content="sure, continue")["status"] == "skipped"
    assert list(mem.find()) == []


def test_the_command_speaks_the_protocol_and_nothing_else(tmp_path: Path) -> None:
    """Over standard input and output, with a scope; a second process sees what was stored."""
    path = tmp_path / "memory.db"
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memotherm", "mcp", "--store", str(path), "--agent", "planner"],
        env=environment(tmp_path / "home"),
        cwd=str(tmp_path),
    )

    async def run() -> Any:
        async with Client(server) as client:
            return await client.call_tool("store_memory", {"content": "an otter swims", "tier": "hot"})

    made = anyio.run(run).structured_content
    with memotherm.open(path, scope=Scope(agent="planner"), embedder="none") as mem:
        assert mem.get(made["id"]).scope == Scope(agent="planner")


def test_the_command_runs_maintenance_in_the_background(tmp_path: Path) -> None:
    """What has expired is deleted while the server runs."""
    path = tmp_path / "memory.db"
    past = FakeClock(datetime.now(UTC) - timedelta(days=2))
    with memotherm.open(path, embedder="none", clock=past) as mem:
        expired = mem.remember("an otter", ttl="1h").id
    code = (
        "import sys; from datetime import timedelta; from memotherm.facade import upkeep; "
        "from memotherm.cli.app import run; upkeep._MAINTAIN_EVERY = timedelta(seconds=0.1); "
        "sys.exit(run(sys.argv[1:]))"
    )
    server = StdioServerParameters(
        command=sys.executable,
        args=["-c", code, "mcp", "--store", str(path)],
        env=environment(tmp_path / "home"),
        cwd=str(tmp_path),
    )

    async def run() -> None:
        with anyio.fail_after(100):
            async with Client(server) as client:
                while (await client.call_tool("memory_get", {"path": expired})).structured_content[
                    "retention"
                ] == "active":
                    await anyio.sleep(0.01)

    anyio.run(run)


def test_without_the_package_the_command_says_how_to_get_it(tmp_path: Path) -> None:
    """One line with the command to run."""
    code = "import sys; sys.modules['mcp'] = None; from memotherm.cli.app import run; sys.exit(run(sys.argv[1:]))"
    done = python(code, "mcp", "--store", tmp_path / "memory.db")

    assert done.returncode == 5
    assert "pip install 'memotherm[mcp]'" in done.stderr
    assert done.stdout == ""


def test_the_command_line_does_not_load_the_servers() -> None:
    """`--help` and the package itself stay fast."""
    code = (
        "import sys, memotherm; from memotherm.cli.app import run; run(['--help']);"
        " print(sorted({'mcp', 'fastapi', 'uvicorn', 'prometheus_client'} & set(sys.modules)), file=sys.stderr)"
    )

    assert python(code).stderr.strip() == "[]"


def test_the_status_of_an_unknown_session_is_refused_and_begins_none(mem: Memotherm) -> None:
    """The answer names the session; a second question gets the same answer."""
    for _ in range(2):
        assert "no session 's1' has begun" in refused(mem, "memory_status", sessionId="s1")
        assert "[not_found]" in refused(mem, "memory_status", sessionId="s1")
    called(mem, "memory_add", sessionId="s1", content="An otter", type="fact")
    assert called(mem, "memory_status", sessionId="s1")["hot"]["items"] == 1


def test_memories_are_listed_and_searched_with_filters(mem: Memotherm) -> None:
    """By the tools outside the core set, by metadata and by time, at and below the scope."""
    mem.remember("deploy the shop", metadata={"status": "open"})
    mem.remember("deploy it all", metadata={"status": "done"})
    mem.scoped(project="web").remember("deploy the web", metadata={"status": "open"})

    listed = called(mem, "memory_find", where={"status": "open"}, since="1h")
    assert [item["content"] for item in listed["memories"]] == ["deploy the shop"]
    assert len(called(mem, "memory_find", includeNarrower=True, retention="any")["memories"]) == 3
    assert called(mem, "memory_status", includeNarrower=True)["warm"]["items"] == 3
    assert "leave out sessionId or includeNarrower" in refused(
        mem, "memory_status", includeNarrower=True, sessionId="s1"
    )
    assert len(called(mem, "memory_recall", query="deploy", includeNarrower=True)["items"]) == 3
    assert "leave one of them out" in refused(
        mem, "memory_recall", query="deploy", includeNarrower=True, sessionId="s1"
    )
    asked = {"query": "deploy", "minScore": 0.0, "where": {"status": "open"}, "includeNarrower": True}
    found = called(mem, "memory_search", **asked)["results"]
    assert {hit["snippet"] for hit in found} == {"deploy the shop", "deploy the web"}
    scopes = called(mem, "memory_scopes")["scopes"]
    assert [(each["scope"], each["memories"]) for each in scopes] == [({}, 2), ({"project": "web"}, 1)]
    called(mem, "memory_put_key", key="plans/1", content="deploy the plan")
    assert [item["key"] for item in called(mem, "memory_find", prefix="plans/")["memories"]] == ["plans/1"]
    assert len(called(mem, "memory_search", query="deploy", minScore=0.0, prefix="plans/")["results"]) == 1
    assert "unknown operator '$like'" in refused(mem, "memory_find", where={"a": {"$like": 1}})


def test_notes_are_curated_and_the_flush_names_the_note_of_the_day(tmp_path: Path) -> None:
    """A dry run first; without notes the tool says what to set."""
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-01-05.md").write_text("- Ana owns the vault.\n", "utf-8")

    async def prompt(client: Client) -> Any:
        return await client.get_prompt("flush", {})

    with opened(tmp_path / "memory.db", settings={"notes_root": str(tmp_path)}) as mem:
        planned = called(mem, "memory_curate", path="memory/2026-01-05.md", dryRun=True)
        assert (planned["lines"], (tmp_path / "MEMORY.md").exists()) == (["- Ana owns the vault."], False)
        assert called(mem, "memory_curate", path="memory/2026-01-05.md")["endLine"] == 1
        assert "without a tenant" in refused(mem.scoped(tenant="t"), "memory_curate", path="memory/2026-01-05.md")
        text = talk(mem, prompt).messages[0].content.text
        assert mem.notes(tmp_path).today() in text
        assert str(tmp_path) in text
    with opened(tmp_path / "other.db") as mem:
        assert "notes_root" in refused(mem, "memory_curate", path="memory/2026-01-05.md")


def test_a_preference_stored_in_a_project_reaches_all_projects_of_the_user(mem: Memotherm) -> None:
    """Other kinds stay in the project, and other users see neither."""
    shop, bank, other = (
        mem.scoped(project=project, user=user) for project, user in (("shop", "ana"), ("bank", "ana"), ("shop", "bob"))
    )
    called(shop, "store_memory", content="Ana prefers short answers", kind="preference")
    called(shop, "store_memory", content="The shop sells tea", kind="fact")

    assert [memory.content for memory in bank.find()] == ["Ana prefers short answers"]
    assert len(shop.find().memories) == 2
    assert not other.find().memories
