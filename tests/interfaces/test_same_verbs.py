"""Promise 1: every tier is reachable through every interface, and the same calls have the same results."""

from __future__ import annotations

import contextlib
import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from mcp import Client
from starlette.testclient import TestClient

import memotherm
from memotherm import Memotherm, tools
from memotherm.cli.app import run
from memotherm.cli.exit_codes import CONFLICT
from memotherm.errors import LimitReached
from memotherm.mcp.server import build
from memotherm.operations.codec import to_json
from memotherm.rest.app import application
from tests.interfaces.served import serving
from tests.stores import located

TIERS = ("hot", "warm", "cold")
SESSION = "s1"
Json = dict[str, Any]


class Interface(ABC):
    """One way to a memory; answers are plain values, and `None` means that a full priority was refused."""

    @abstractmethod
    def store(self, content: str, tier: str) -> Json: ...
    @abstractmethod
    def get(self, memory_id: str) -> Json: ...
    @abstractmethod
    def move(self, memory_id: str, tier: str) -> Json: ...
    @abstractmethod
    def pin(self, memory_id: str) -> Json | None: ...
    @abstractmethod
    def unpin(self, memory_id: str) -> Json: ...
    @abstractmethod
    def add(self, content: str) -> Json: ...
    @abstractmethod
    def spill(self, memory_id: str) -> Json: ...
    @abstractmethod
    def session_recall(self, query: str) -> list[Json]: ...
    @abstractmethod
    def promote(self, memory_id: str) -> bool: ...
    @abstractmethod
    def recall(self, query: str, tiers: tuple[str, ...]) -> list[Json]: ...
    @abstractmethod
    def context(self, query: str, budget: int) -> str: ...
    @abstractmethod
    def forget(self, memory_id: str) -> Json: ...
    @abstractmethod
    def undo(self, event: int) -> Json: ...
    @abstractmethod
    def receipts(self) -> list[Json]: ...
    @abstractmethod
    def verify(self, memory_id: str) -> Json: ...
    @abstractmethod
    def feedback(self, memory_id: str, answer: str) -> Json: ...
    @abstractmethod
    def put_key(self, key: str, content: str) -> Json: ...
    @abstractmethod
    def get_key(self, key: str) -> Json: ...
    @abstractmethod
    def list_keys(self, prefix: str, depth: int) -> list[str]: ...
    @abstractmethod
    def status(self) -> Json: ...
    @abstractmethod
    def session_status(self) -> Json: ...


class PythonInterface(Interface):
    def __init__(self, mem: Memotherm) -> None:
        self.mem = mem
        self.session = mem.session(SESSION)

    def store(self, content: str, tier: str) -> Any:
        return to_json(self.mem.remember(content, tier=tier))

    def get(self, memory_id: str) -> Any:
        return to_json(self.mem.get(memory_id))

    def move(self, memory_id: str, tier: str) -> Any:
        return to_json(self.mem.move(memory_id, tier))

    def pin(self, memory_id: str) -> Any:
        try:
            return to_json(self.mem.pin(memory_id))
        except LimitReached:
            return None

    def unpin(self, memory_id: str) -> Any:
        return to_json(self.mem.unpin(memory_id))

    def add(self, content: str) -> Any:
        return to_json(self.session.add(content, "message"))

    def spill(self, memory_id: str) -> Any:
        spill = self.session.spill(ids=[memory_id])
        return {"spilledIds": list(spill.spilled_ids), "targetTier": spill.target_tier}

    def session_recall(self, query: str) -> Any:
        return [to_json(hit) for hit in self.session.recall(query, auto_promote=False)]

    def promote(self, memory_id: str) -> Any:
        return self.session.promote(memory_id)

    def recall(self, query: str, tiers: tuple[str, ...]) -> Any:
        return [to_json(hit) for hit in self.mem.recall(query, tiers=tiers)]

    def context(self, query: str, budget: int) -> Any:
        return self.mem.context(query, budget).text

    def forget(self, memory_id: str) -> Any:
        return to_json(self.mem.forget(memory_id))

    def undo(self, event: int) -> Any:
        return to_json(self.mem.undo(event))

    def receipts(self) -> Any:
        return to_json(self.mem.receipts.list().receipts)

    def verify(self, memory_id: str) -> Any:
        return to_json(self.mem.verify(memory_id))

    def feedback(self, memory_id: str, answer: str) -> Any:
        return to_json(self.mem.feedback(used=[memory_id], answer=answer))

    def put_key(self, key: str, content: str) -> Any:
        return to_json(self.mem.remember(content, key=key, index=False))

    def get_key(self, key: str) -> Any:
        return to_json(self.mem.get(key=key))

    def list_keys(self, prefix: str, depth: int) -> Any:
        return self.mem.inspect.keys(prefix, depth)

    def status(self) -> Any:
        return tools.memory_status(self.mem)

    def session_status(self) -> Any:
        return tools.memory_status(self.mem, SESSION)


class CliInterface(Interface):
    def __init__(self, path: Path | str) -> None:
        self.path = path

    def _run(self, *arguments: object) -> tuple[int, Any]:
        out = io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
            code = run([*map(str, arguments), "--store", str(self.path), "--json"])
        return code, json.loads(out.getvalue()) if code == 0 else None

    def _ask(self, *arguments: object) -> Any:
        code, answer = self._run(*arguments)
        assert code == 0, arguments
        return answer

    def store(self, content: str, tier: str) -> Any:
        return self._ask("remember", content, "--tier", tier)

    def get(self, memory_id: str) -> Any:
        return self._ask("get", memory_id)

    def move(self, memory_id: str, tier: str) -> Any:
        return self._ask("move", memory_id, tier)

    def pin(self, memory_id: str) -> Any:
        code, answer = self._run("pin", memory_id)
        assert code in (0, CONFLICT)
        return answer

    def unpin(self, memory_id: str) -> Any:
        return self._ask("unpin", memory_id)

    def add(self, content: str) -> Any:
        return self._ask("session", "add", SESSION, content, "--type", "message")

    def spill(self, memory_id: str) -> Any:
        return self._ask("session", "spill", SESSION, "--id", memory_id)

    def session_recall(self, query: str) -> Any:
        return self._ask("session", "recall", SESSION, query, "--no-promote")["items"]

    def promote(self, memory_id: str) -> Any:
        return self._ask("session", "promote", SESSION, memory_id)["promoted"]

    def recall(self, query: str, tiers: tuple[str, ...]) -> Any:
        return self._ask("recall", query, *(word for tier in tiers for word in ("--tier", tier)))["items"]

    def context(self, query: str, budget: int) -> Any:
        return self._ask("context", query, "--budget", budget)["text"]

    def forget(self, memory_id: str) -> Any:
        return self._ask("forget", memory_id)

    def undo(self, event: int) -> Any:
        return self._ask("undo", event)

    def receipts(self) -> Any:
        return self._ask("receipts")["receipts"]

    def verify(self, memory_id: str) -> Any:
        return self._ask("verify", memory_id)

    def feedback(self, memory_id: str, answer: str) -> Any:
        return self._ask("feedback", "--used", memory_id, "--answer", answer)

    def put_key(self, key: str, content: str) -> Any:
        return self._ask("remember", content, "--key", key, "--no-index")

    def get_key(self, key: str) -> Any:
        return self._ask("get", "--key", key)

    def list_keys(self, prefix: str, depth: int) -> Any:
        return self._ask("list", "--keys", "--prefix", prefix, "--depth", depth)["keys"]

    def status(self) -> Any:
        return self._ask("status")

    def session_status(self) -> Any:
        return self._ask("session", "status", SESSION)


class McpInterface(Interface):
    def __init__(self, mem: Memotherm) -> None:
        self.server = build(mem, ["all"])

    def _call(self, name: str, **arguments: Any) -> Any:
        async def act() -> Any:
            async with Client(self.server) as client:
                return await client.call_tool(name, arguments)

        return anyio.run(act)

    def _ask(self, name: str, **arguments: Any) -> Any:
        answer = self._call(name, **arguments)
        assert not answer.is_error, answer.content[0].text
        return answer.structured_content

    def store(self, content: str, tier: str) -> Any:
        return self._ask("store_memory", content=content, tier=tier)

    def get(self, memory_id: str) -> Any:
        return self._ask("memory_get", path=memory_id)

    def move(self, memory_id: str, tier: str) -> Any:
        return self._ask("set_memory_tier", memory_id=memory_id, tier=tier)

    def pin(self, memory_id: str) -> Any:
        answer = self._call("pin_memory", memory_id=memory_id)
        assert not answer.is_error or "[limit_reached]" in answer.content[0].text
        return None if answer.is_error else answer.structured_content

    def unpin(self, memory_id: str) -> Any:
        return self._ask("unpin_memory", memory_id=memory_id)

    def add(self, content: str) -> Any:
        return self._ask("memory_add", sessionId=SESSION, content=content, type="message")

    def spill(self, memory_id: str) -> Any:
        return self._ask("memory_spill", sessionId=SESSION, ids=[memory_id])

    def session_recall(self, query: str) -> Any:
        return self._ask("memory_recall", sessionId=SESSION, query=query, autoPromote=False)["items"]

    def promote(self, memory_id: str) -> Any:
        return self._ask("memory_promote", sessionId=SESSION, memory_id=memory_id)["promoted"]

    def recall(self, query: str, tiers: tuple[str, ...]) -> Any:
        return self._ask("memory_recall", query=query, includeCold="cold" in tiers)["items"]

    def context(self, query: str, budget: int) -> Any:
        return self._ask("memory_context", query=query, budget=budget)["text"]

    def forget(self, memory_id: str) -> Any:
        return self._ask("memory_forget", memory_id=memory_id)

    def undo(self, event: int) -> Any:
        return self._ask("memory_undo", event=event)

    def receipts(self) -> Any:
        return self._ask("memory_receipts", limit=20)["receipts"]

    def verify(self, memory_id: str) -> Any:
        return self._ask("memory_verify", memory_id=memory_id)

    def feedback(self, memory_id: str, answer: str) -> Any:
        return self._ask("memory_feedback", used=[memory_id], answer=answer)

    def put_key(self, key: str, content: str) -> Any:
        return self._ask("memory_put_key", key=key, content=content, index=False)

    def get_key(self, key: str) -> Any:
        return self._ask("memory_get_key", key=key)

    def list_keys(self, prefix: str, depth: int) -> Any:
        return self._ask("memory_list_keys", prefix=prefix, depth=depth)["keys"]

    def status(self) -> Any:
        return self._ask("memory_status")

    def session_status(self) -> Any:
        return self._ask("memory_status", sessionId=SESSION)


class RestInterface(Interface):
    def __init__(self, client: TestClient) -> None:
        self.client = client

    def _ask(self, method: str, path: str, body: Json | None = None) -> Any:
        answer = self.client.request(method, path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def store(self, content: str, tier: str) -> Any:
        return self._ask("POST", "/memories", {"content": content, "tier": tier})

    def get(self, memory_id: str) -> Any:
        return self._ask("GET", f"/memories/{memory_id}")

    def move(self, memory_id: str, tier: str) -> Any:
        return self._ask("POST", f"/memories/{memory_id}/move", {"tier": tier})

    def pin(self, memory_id: str) -> Any:
        answer = self.client.post(f"/memories/{memory_id}/pin")
        found: Json = answer.json()
        assert answer.status_code == 200 or found["code"] == "limit_reached"
        return found if answer.status_code == 200 else None

    def unpin(self, memory_id: str) -> Any:
        return self._ask("POST", f"/memories/{memory_id}/unpin")

    def add(self, content: str) -> Any:
        return self._ask("POST", f"/sessions/{SESSION}/memories", {"content": content})

    def spill(self, memory_id: str) -> Any:
        return self._ask("POST", f"/sessions/{SESSION}/spill", {"ids": [memory_id]})

    def session_recall(self, query: str) -> Any:
        return self._ask("POST", f"/sessions/{SESSION}/recall", {"query": query, "auto_promote": False})["items"]

    def promote(self, memory_id: str) -> Any:
        return self._ask("POST", f"/sessions/{SESSION}/promote", {"memory_id": memory_id})["promoted"]

    def recall(self, query: str, tiers: tuple[str, ...]) -> Any:
        return self._ask("POST", "/recall", {"query": query, "tiers": list(tiers)})["items"]

    def context(self, query: str, budget: int) -> Any:
        return self._ask("POST", "/context", {"query": query, "budget": budget})["text"]

    def forget(self, memory_id: str) -> Any:
        return self._ask("DELETE", f"/memories/{memory_id}")

    def undo(self, event: int) -> Any:
        return self._ask("POST", f"/events/{event}/undo")

    def receipts(self) -> Any:
        return self._ask("GET", "/receipts")["receipts"]

    def verify(self, memory_id: str) -> Any:
        return self._ask("POST", f"/memories/{memory_id}/verify")

    def feedback(self, memory_id: str, answer: str) -> Any:
        return self._ask("POST", "/feedback", {"used": [memory_id], "answer": answer})

    def put_key(self, key: str, content: str) -> Any:
        return self._ask("POST", "/memories", {"content": content, "key": key, "index": False})

    def get_key(self, key: str) -> Any:
        return self._ask("GET", f"/memories:key?key={quote(key)}")

    def list_keys(self, prefix: str, depth: int) -> Any:
        return self._ask("GET", f"/memories:keys?prefix={quote(prefix)}&depth={depth}")["keys"]

    def status(self) -> Any:
        return self._ask("GET", "/status")

    def session_status(self) -> Any:
        return self._ask("GET", f"/sessions/{SESSION}/status")


def scenario(interface: Interface) -> Json:
    """Do everything once, and return what came of it, without ids and times."""
    results: Json = {}
    stored = {tier: interface.store(f"an otter that begins {tier}", tier) for tier in TIERS}
    results["created"] = {tier: memory["tier"] for tier, memory in stored.items()}
    wanderer = stored["warm"]["id"]
    results["moved"] = [interface.move(wanderer, tier)["tier"] for tier in ("cold", "hot", "warm")]

    candidates = [interface.store(f"rule number {number}", "warm")["id"] for number in range(6)]
    results["pinned"] = [(pinned := interface.pin(each)) and pinned["priority"] for each in candidates]
    results["unpinned"] = [interface.unpin(each)["priority"] for each in candidates[:4]]

    messages = [interface.add(f"the badger said {word}") for word in ("yes", "no")]
    results["added"] = [memory["tier"] for memory in messages]
    spill = interface.spill(messages[0]["id"])
    results["spilled"] = [len(spill["spilledIds"]), spill["targetTier"]]
    results["session_recalled"] = [hit["content"] for hit in interface.session_recall("badger")]
    results["promoted"] = interface.promote(messages[0]["id"])
    results["session"] = {tier: interface.session_status()[tier]["items"] for tier in TIERS}

    results["recalled"] = [
        (hit["content"], round(hit["score"], 4)) for hit in interface.recall("otter", ("hot", "warm"))
    ]
    results["recalled_with_cold"] = [hit["content"] for hit in interface.recall("otter", TIERS)]
    said = [interface.feedback(stored["cold"]["id"], "An otter that begins warm, and cold") for _ in range(2)]
    results["feedback"] = [[len(each["confirmed"]), len(each["reflected"])] for each in said]
    # A line names the source of a memory, which the command line sets.
    results["context"] = interface.context("otter", 300).replace(", cli", ", agent")
    results["context_off"] = interface.context("otter", 0)

    gone = interface.forget(stored["hot"]["id"])
    results["forgotten"] = gone["retention"]
    results["after"] = [hit["content"] for hit in interface.recall("otter", TIERS)]
    results["undone"] = interface.undo(gone["version"])["retention"]
    results["found_again"] = {tier: interface.get(stored[tier]["id"])["tier"] for tier in TIERS}
    results["receipts"] = [
        [
            receipt["tokens"],
            [
                (entry["section"], entry["reason"], entry["score"] and round(entry["score"], 4))
                for entry in receipt["included"]
            ],
        ]
        for receipt in interface.receipts()
    ]
    verified = interface.verify(stored["cold"]["id"])
    results["verified"] = [verified["verified_at"] is not None, interface.undo(verified["version"])["verified_at"]]
    written = [interface.put_key(key, f"filed as {key}")["id"] for key in ("zoo/otter", "zoo/ö x", "plan", "plan")]
    results["keys"] = [len(set(written)), interface.list_keys("zoo/", 1), interface.list_keys("p", 1)]
    filed = interface.get_key("zoo/ö x")
    results["by_key"] = [filed["content"], filed["key"], filed["index"]]
    status = interface.status()
    results["status"] = {tier: status[tier]["items"] for tier in TIERS}
    results["retention"] = status["retention"]
    return results


@contextlib.contextmanager
def opened_interface(name: str, path: Path | str) -> Iterator[Interface]:
    if name == "cli":
        yield CliInterface(path)
        return
    with memotherm.open(path, embedder="none") as mem:
        if name == "remote":
            with serving(mem) as url, memotherm.open(url) as remote:
                yield PythonInterface(remote)
        elif name == "rest":
            with TestClient(application(mem), base_url="http://127.0.0.1") as client:
                yield RestInterface(client)
        else:
            yield McpInterface(mem) if name == "mcp" else PythonInterface(mem)


@pytest.fixture
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "home"))


@pytest.mark.usefixtures("_offline")
@pytest.mark.parametrize("store_kind", ["sqlite", "postgres"], indirect=True)
@pytest.mark.parametrize("interface", ["python", "cli", "mcp", "rest", "remote"])
def test_every_interface_does_what_python_does_with_a_file(interface: str, tmp_path: Path) -> None:
    """Create, move, pin to the limit, spill, recall, promote, context, forget, undo, status."""
    with opened_interface("python", tmp_path / "first.db") as first:
        expected = scenario(first)
    with opened_interface(interface, located(tmp_path / "other.db")) as other:
        assert scenario(other) == expected


@pytest.mark.usefixtures("_offline")
def test_the_scenario_reaches_every_tier(tmp_path: Path) -> None:
    """The results of the scenario are those that are expected."""
    with opened_interface("python", tmp_path / "python.db") as interface:
        results = scenario(interface)

    assert results["created"] == {tier: tier for tier in TIERS}
    assert results["moved"] == ["cold", "hot", "warm"]
    assert results["pinned"] == ["pinned"] * 5 + [None]
    assert results["added"] == ["hot", "hot"]
    assert results["spilled"][0] == 1
    assert results["promoted"] is True
    assert "an otter that begins cold" not in [content for content, _ in results["recalled"]]
    assert "an otter that begins cold" in results["recalled_with_cold"]
    assert "an otter that begins hot" in results["context"]
    assert results["context_off"] == ""
    assert (results["forgotten"], results["undone"]) == ("deleted", "active")
    assert "an otter that begins hot" not in results["after"]
    assert results["found_again"] == {tier: tier for tier in TIERS}
    assert [len(included) for _, included in results["receipts"]] == [results["context"].count("\n- ")]
    assert results["verified"] == [True, None]
    assert results["keys"] == [3, ["zoo/otter", "zoo/ö x"], ["plan"]]
    assert results["by_key"] == ["filed as zoo/ö x", "zoo/ö x", False]
