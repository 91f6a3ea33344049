"""Promises of the documents beside their lists: defaults, filters, and configuration samples as a whole."""

from __future__ import annotations

import json
from typing import Any

from memotherm import LimitReached, Scope
from tests.spec.audit.interfaces import Cli, Mcp, NotesMcp, Python, Rest, refusal
from tests.spec.audit.table import audit

_SAMPLES: dict[str, dict[str, object]] = {
    "[memoryTiering]\nenabled = true\nhotMaxTokens = 2000\ncompactionOnSessionEnd = true\n"
    "inactivePreferenceDays = 7\nhotMaxFacts = 40\n": {
        "tiering": True, "hot_max_tokens": 2000, "compaction_on_session_end": True, "inactive_preference_days": 7,
        "hot_max_facts": 40,
    },
    "[memory]\nmax_pinned = 4\n[memory.tier_boosts]\npinned = 1.0\ncritical = 0.3\nimportant = 0.15\nnormal = 0.0\n"
    "low = -0.2\n": {
        "max_pinned": 4,
        "priority_boosts": {"pinned": 1.0, "critical": 0.3, "important": 0.15, "normal": 0.0, "low": -0.2},
    },
    "[agent.memory]\nhotTokenLimit = 4000\nwarmAccessThreshold = 2\npromoteThreshold = 0.85\nmaxColdItems = 1000\n"
    "autoSpillEnabled = true\nautoPromoteEnabled = true\n": {
        "hot_token_limit": 4000, "warm_access_threshold": 2, "promote_threshold": 0.85, "max_cold_items": 1000,
        "auto_spill": True, "auto_promote": True,
    },
    "chunking.tokens = 300\nsync.watch = true\nquery.hybrid.vectorWeight = 0.7\nquery.hybrid.textWeight = 0.3\n"
    "experimental.sessionMemory = false\n": {
        "chunk_tokens": 300, "watch_notes": True, "vector_weight": 0.7, "text_weight": 0.3,
        "experimental_session_memory": False,
    },
}  # fmt: skip


@audit("H31", "E50", "C48", "O55")
def the_configuration_samples_are_read_as_a_whole(cli: Cli) -> None:
    for sample, wanted in _SAMPLES.items():
        (cli.folder / "memotherm.toml").write_text(sample)
        code, out, err = cli.run("config", "show", "--json")
        assert code == 0, err
        values = json.loads(out)
        assert {name: values[name] for name in wanted} == wanted
        code, _, err = cli.run("remember", "The harbour is open", "--store", cli.folder / "own.db", embedder="none")
        assert code == 0, err


@audit("E48")
def an_empty_query_with_a_filter_lists(rest: Rest) -> None:
    pinned = [rest.remember(f"Standing order {number}", priority="pinned")["id"] for number in range(2)]
    rest.remember("Nobody stands")
    assert [each["id"] for each in rest.query("", filters={"tier": 0})["results"]] == pinned[::-1]


@audit(E49="D16")
def limits_count_what_is_visible(python: Python) -> None:
    wide = python.open(scope=Scope(project="harbour"))
    own = wide.scoped(user="ana")
    for number in range(3):
        wide.remember(f"Rule {number} of the harbour", priority="pinned")
        if number < 2:
            own.remember(f"Rule {number} of Ana", priority="pinned")
    refusal(LimitReached, own.remember, "The sixth rule", priority="pinned")


@audit("C45")
def the_same_words_twice_are_two_turns(rest: Rest, mcp: Mcp) -> None:
    first, second = rest.add("yes"), rest.add("yes")
    assert [each["id"] for each in rest.get("/sessions/s/hot")["memories"]] == [second["id"], first["id"]]
    for _ in range(2):
        mcp("memory_add", sessionId="C45", content="yes", type="message")
    assert mcp("memory_status", sessionId="C45")["hot"]["items"] == 2


@audit("M30")
def environment_project_and_retention_are_filters(rest: Rest) -> None:
    query = {"query": "quarterly goals"}
    place = f"project={rest.name}; environment="
    for name in ("production", "staging"):
        rest.remember(f"Quarterly goals of {name}", scope=place + name)
    for name in ("production", "staging"):
        found = rest.post("/memory/query", query, place + name)["results"]
        assert [each["content"] for each in found] == [f"Quarterly goals of {name}"]
    assert rest.post("/memory/query", query)["results"] == []
    for name in ("production", "staging"):
        bodies: tuple[dict[str, Any], ...] = ({"environment": name}, {"filters": {"environment": name}})
        for body in bodies:
            filters = {**body.get("filters", {}), "projectId": rest.name}
            for project in ({}, {"project": rest.name}, {"filters": filters}):
                found = rest.query("quarterly goals", **{**body, **project})["results"]
                assert [each["content"] for each in found] == [f"Quarterly goals of {name}"], (body, project)
    old = rest.remember("Quarterly goals of last year")
    rest.change(old, "archive")
    for word in ("retention", "retention_status"):
        for body in ({word: "archived"}, {"filters": {word: "archived"}}):
            assert [each["id"] for each in rest.query("quarterly goals", **body)["results"]] == [old["id"]]
    assert rest.recall("quarterly goals")["items"] == []
    assert [each["id"] for each in rest.recall("quarterly goals", retention="archived")["items"]] == [old["id"]]


@audit("M31")
def source_is_a_filter(rest: Rest) -> None:
    rest.remember("Quarterly goals of sales", source="crm")
    wanted = rest.remember("Quarterly goals of the audit", source="audit")
    for filters in ({"sources": ["audit"]}, {"source": "audit"}):
        for body in (filters, {"filters": filters}):
            found = rest.query("quarterly goals", **body)["results"]
            assert [each["id"] for each in found] == [wanted["id"]]


@audit(C47="D04")
def the_schemas_state_their_defaults(mcp: Mcp) -> None:
    defaults = {
        name: given["default"]
        for name, given in mcp.schema("memory_recall")["properties"].items()
        if "default" in given
    }
    assert (defaults["limit"], defaults["autoPromote"], defaults["includeCold"]) == (10, False, False)
    inside = mcp("memory_recall", sessionId="C47", query="anything")
    assert (inside["limit"], inside["autoPromote"]) == (3, True)


@audit(O51="D38")
def the_default_embedder_is_local(cli: Cli) -> None:
    assert json.loads(cli.run("config", "show", "--json", embedder="local")[1])["embedder"] == "local"
    variables = {**cli.environment}
    variables.pop("MEMOTHERM_EMBEDDER")
    plain = Cli(cli.command, cli.store, cli.name, variables, cli.folder)
    assert json.loads(plain.run("config", "show", "--json")[1])["embedder"] == "local"


@audit("O52")
def a_flush_is_a_run_of_its_own(rest: Rest) -> None:
    due = rest.session("flush", total_tokens=177_000)["flush"]
    assert due["system"].startswith("Pre-compaction memory flush turn.")
    assert due["prompt"].startswith("Pre-compaction memory flush.")
    assert due["silent_token"] in due["prompt"]
    assert "memory flush" not in rest.session("context", prompt="Continue please")["text"]


@audit("O53")
def session_memory_alone_indexes_transcripts(python: Python) -> None:
    root = python.folder / "workspace"
    (root / "sessions").mkdir(parents=True)
    said = {"role": "user", "content": "The password of the wifi is heron"}
    (root / "sessions" / "talk.jsonl").write_text(json.dumps(said) + "\n")
    (root / "MEMORY.md").write_text("- The bell rings at six.\n")
    found = python.open(experimental_session_memory=True).notes(root).search("wifi password heron")
    assert [hit.source for hit in found] == ["sessions"]


@audit("O54")
def the_kind_of_chat_is_named_or_detected(notes: NotesMcp, python: Python) -> None:
    notes.write("memory/2026-05-05.md", "The sundial is on the south wall.\n")
    assert "citation" in notes.search("sundial")[0]
    for chat in ("group", "channel"):
        assert "citation" not in notes.search("sundial", chat=chat)[0], chat
        session = f"agent:main:discord:{chat}:4711"
        assert "citation" not in notes.search("sundial", sessionId=session)[0], session
        assert "citation" in notes.search("sundial", sessionId=session, chat="direct")[0]
    for session in ("agent:main:main", "agent:main:whatsapp:dm:+49", "group", "the group of Ana"):
        assert "citation" in notes.search("sundial", sessionId=session)[0], session
    shared = python.open().scoped(session="agent:main:telegram:group:-100").notes(notes.root)
    assert not shared.search("sundial", track=False).citations
