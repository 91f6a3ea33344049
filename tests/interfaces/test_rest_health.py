"""Over HTTP: the state of the store and its server, the log of recalls, and why a memory was in a context."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from memotherm import Memotherm
from memotherm.errors import StoreUnavailable
from memotherm.storage.sqlite.store import SqliteStore
from tests.helpers import opened
from tests.interfaces.test_rest import asking, problem


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Memotherm]:
    with opened(tmp_path / "memory.db") as found:
        yield found


@pytest.fixture
def client(mem: Memotherm) -> Iterator[TestClient]:
    with asking(mem) as found:
        yield found


@pytest.mark.slow
def test_the_state_of_the_store_is_shown_to_those_who_may_see_all_of_it(
    mem: Memotherm, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Store, settings, keys, check and doctor, without any secret; the key of a tenant sees none of them."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    monkeypatch.setenv("MEMOTHERM_STORE", "postgresql://ana:hunter2@db/agent?password=hunter3")
    mem.remember("An otter")

    assert client.get("/store").json()["bytes"] > 0
    assert client.get("/check").json() == {"problems": []}
    findings = {finding["name"]: finding for finding in client.get("/doctor").json()["findings"]}
    assert (findings["check"]["state"], findings["memories"]["state"]) == ("ok", "ok")
    settings = {setting["name"]: setting for setting in client.get("/settings").json()["settings"]}
    assert settings["hot_max_facts"]["origin"] == "default"
    assert settings["hot_max_facts"]["help"]
    secret = mem.keys.create("ci", "acme", read_only=True)
    key = {"authorization": f"Bearer {secret}"}
    for path in ("/store", "/check", "/doctor", "/settings", "/keys", "/policy"):
        problem(client.get(path, headers=key), 403, "forbidden")


def test_keys_are_listed_without_their_secrets_and_settings_without_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing that gives access to anything is in a response."""
    monkeypatch.setenv("MEMOTHERM_API_KEY", "sk-very-secret")
    monkeypatch.setenv("MEMOTHERM_STORE", "postgresql://ana:hunter2@db/agent?password=hunter3")
    with opened(tmp_path / "memory.db") as mem, asking(mem, token="once") as client:
        secret = mem.keys.create("ci", "acme", user="ana", read_only=True)
        client.post("/login", headers={"authorization": "Bearer once"})
        (key,) = client.get("/keys").json()["keys"]
        text = client.get("/keys").text + client.get("/settings").text

    assert (key["name"], key["tenant"], key["user"], key["read_only"]) == ("ci", "acme", "ana", True)
    for hidden in (secret, "sk-very-secret", "hunter"):
        assert hidden not in text


def test_the_log_of_recalls_shows_the_newest_or_the_slowest_inside_the_scope(
    mem: Memotherm, client: TestClient
) -> None:
    """Each with its scope, its duration and what it found; another user's queries are not shown."""
    mem.scoped(user="ana").remember("Otters live in the river")
    for user, query in (("ana", "where do otters live?"), ("ana", "otters"), ("ben", "a secret of Ben")):
        mem.scoped(user=user).remember(f"What {user} knows about {query}")
        mem.scoped(user=user).recall(query)

    def queries(**more: str) -> list[str]:
        headers = {"memotherm-scope": "user=ana"} if more.pop("user", None) else {}
        return [found["query"] for found in client.get("/recalls", params=more, headers=headers).json()["recalls"]]

    assert queries() == ["a secret of Ben", "otters", "where do otters live?"]
    assert queries(user="ana") == ["otters", "where do otters live?"]
    slowest = client.get("/recalls", params={"order": "slowest", "limit": 2}).json()["recalls"]
    assert len(slowest) == 2
    assert slowest[0]["milliseconds"] >= slowest[1]["milliseconds"] > 0
    assert {found["returned"] > 0 for found in slowest} == {True}


def test_a_context_is_returned_in_parts_and_its_receipt_explains_a_memory(mem: Memotherm, client: TestClient) -> None:
    """The parts make the text, each names its memory; the receipt that is kept can be asked about one."""
    mem.remember("Be kind to <b>everyone</b>", priority="pinned")
    river = mem.remember("Otters live in the river,\nall year round")
    cold = mem.remember("Otters lived in the mill", tier="cold")
    for text_format in ("markdown", "xml", "index", "messages"):
        body = {"query": "where do otters live?", "format": text_format, "track": False}
        found = client.post("/context", json=body).json()
        assert "".join(part["text"] for part in found["parts"]) == found["text"]
        named = [part["id"] for part in found["parts"] if part["id"]]
        included = [entry["id"] for entry in found["receipt"]["included"]]
        assert named == ([] if text_format == "messages" else included)
    client.post("/sessions/s1/context", json={"prompt": "where do otters live?"})
    (receipt,) = client.get("/receipts").json()["receipts"]
    place = f"/receipts/{receipt['number']}/memories"
    shown = client.get(f"/receipts/{receipt['number']}").json()
    assert [entry["title"] for entry in shown["included"]][-1].startswith("Otters live in the river")
    problem(client.get("/receipts/99"), 404, "not_found")

    assert client.get(f"{place}/{river.id}").json()["state"] == "included"
    answer = client.get(f"{place}/{cold.id}").json()
    assert (answer["state"], "cold" in answer["reason"]) == ("not_considered", True)
    problem(client.get(f"/receipts/99/memories/{river.id}"), 404, "not_found")


def test_a_policy_is_shown_with_its_conditions_and_what_its_rules_moved(mem: Memotherm, client: TestClient) -> None:
    """A page can render each rule: when, unless, to, why, and how many memories it moved."""
    mem.remember("It is done", kind="decision", tier="hot", metadata={"status": "done"})
    mem.compact()
    shown = client.get("/policy").json()
    done = next(rule for rule in shown["rules"] if rule["id"] == "compact.done")

    assert (done["to"], done["moved"]) == ("cold", 1)
    assert done["when"][0]["kind"] == ["decision", "task"]
    assert done["unless"][0]["in_tier"] == "< 1d"
    assert (shown["unused"], "[[rule]]" in shown["text"]) == (None, True)


def test_large_responses_are_compressed_for_clients_that_accept_it(client: TestClient) -> None:
    """The page and its data cross the wire once compressed; a client that does not accept it gets them plain."""
    compressed = client.get("/settings", headers={"accept-encoding": "gzip"})
    plain = client.get("/settings", headers={"accept-encoding": "identity"})

    assert compressed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert compressed.json() == plain.json()


def test_a_store_that_cannot_be_reached_is_a_problem_without_its_address(
    mem: Memotherm, client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """With and without a key, before and after it is looked up; the log of the server has the address."""
    key = {"authorization": f"Bearer {mem.keys.create('ci', 'acme')}"}

    def unreachable(*_: object, **__: object) -> None:
        raise StoreUnavailable("postgresql://ana@db.internal/agent cannot be reached")

    failing: list[tuple[str, str, dict[str, str]]] = [
        ("counts", "/health", {}),
        ("counts", "/status", key),
        ("get_values", "/status", key),
    ]
    for method, path, headers in failing:
        with monkeypatch.context() as patched:
            patched.setattr(SqliteStore, method, unreachable)
            answer = client.get(path, headers=headers)
        problem(answer, 503, "store_unavailable")
        assert "db.internal" not in answer.text
        assert answer.headers["retry-after"]
    assert "db.internal" in caplog.text
