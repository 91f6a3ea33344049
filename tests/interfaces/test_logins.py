"""Logins of browsers: what a key or a one-time token is exchanged for, and what the cookie may do."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

import memotherm
from memotherm import Memotherm
from memotherm.rest.app import application
from tests.interfaces.served import environment

ADDRESS = "http://127.0.0.1:8077"
SAME_ORIGIN = {"origin": ADDRESS}


@pytest.fixture
def mem(tmp_path: Path) -> Iterator[Memotherm]:
    with memotherm.open(tmp_path / "memory.db", embedder="none") as found:
        yield found


def browser(mem: Memotherm, token: str | None = None) -> TestClient:
    return TestClient(application(mem, require_keys=True, token=token), base_url=ADDRESS)


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def test_a_key_is_exchanged_for_a_cookie_that_scripts_cannot_read(mem: Memotherm) -> None:
    """The cookie authenticates the same routes with the rights of the key, until the browser logs out."""
    secret = mem.keys.create("ana", "acme", "ana")
    client = browser(mem)
    answer = client.post("/login", headers={**bearer(secret), **SAME_ORIGIN})

    assert answer.json() == {
        "key": "ana",
        "scope": {"tenant": "acme", "user": "ana"},
        "trust": "agent",
        "read_only": False,
        "cookie": True,
        "events": mem.status().seq,
    }
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    assert secret not in cookie
    stored = client.post("/memories", json={"content": "An otter", "kind": "fact"}, headers=SAME_ORIGIN)
    assert stored.json()["scope"] == {"tenant": "acme", "user": "ana"}
    assert client.get("/login").json()["key"] == "ana"
    assert client.delete("/login", headers=SAME_ORIGIN).status_code == 204
    assert client.get("/status").status_code == 401
    client.cookies.set("memotherm-8077", cookie.partition("=")[2].partition(";")[0])
    assert client.get("/status").status_code == 401


def test_a_login_has_the_trust_of_its_key(mem: Memotherm) -> None:
    """A program that exchanges its key for a cookie does not become a person; a key made for a person is one."""
    acme = mem.scoped(tenant="acme")
    acme.by("person").purge(acme.by("person").remember("The old password is hunter2").id)
    found = {}
    for name in ("agent", "person"):
        secret = mem.keys.create(name, "acme", person=name == "person")
        client = browser(mem)
        purged = {"content": "The old password is hunter2"}
        answers = [
            client.post("/memories", json={"content": f"A heron, says {name}"}, headers=bearer(secret)).json()["trust"],
            client.post("/login", headers={**bearer(secret), **SAME_ORIGIN}).json()["trust"],
            client.get("/login").json()["trust"],
            client.post("/memories", json={"content": f"An otter, says {name}"}, headers=SAME_ORIGIN).json()["trust"],
            client.post("/memories", json=purged, headers=SAME_ORIGIN).status_code,
        ]
        found[name] = answers
    assert found == {
        "agent": ["agent", "agent", "agent", "agent", 403],
        "person": ["person", "person", "person", "person", 201],
    }
    with_token = browser(mem, token="once")
    assert with_token.post("/login", headers=bearer("once")).json()["trust"] == "person"
    assert (
        with_token.post("/memories", json={"content": "A crane dances"}, headers=SAME_ORIGIN).json()["trust"]
        == "person"
    )


def test_the_ledger_names_who_has_logged_in(mem: Memotherm) -> None:
    """The key or the person, not the agent whose memory is shown; a program that names its agent is that agent."""
    secret = mem.keys.create("ana-laptop", "acme")
    of_agent = {"memotherm-scope": "agent=planner"}
    stored = {"content": "The otter sleeps"}
    program = browser(mem).post("/memories", json=stored, headers={**bearer(secret), **of_agent}).json()
    page, with_token = browser(mem), browser(mem, token="once")
    page.post("/login", headers={**bearer(secret), **SAME_ORIGIN})
    page.post(f"/memories/{program['id']}/pin", json={}, headers={**SAME_ORIGIN, **of_agent})
    with_token.post("/login", headers=bearer("once"))
    with_token.post("/memories", json=stored, headers={**SAME_ORIGIN, **of_agent})
    without_keys = TestClient(application(mem.scoped(project="open")), base_url=ADDRESS)
    mem.keys.revoke("ana-laptop")
    without_keys.post("/memories", json=stored, headers={**SAME_ORIGIN, **of_agent})

    events = mem.events(include_narrower=True, oldest_first=True).events
    assert [event.actor for event in events] == ["planner", "ana-laptop", "person", "dashboard"]


def test_a_login_ends_with_its_key(mem: Memotherm) -> None:
    """A revoked key is of no use to a browser that logged in with it."""
    client = browser(mem)
    client.post("/login", headers=bearer(mem.keys.create("ci", "acme")))
    assert client.get("/status").status_code == 200

    mem.keys.revoke("ci")

    assert client.get("/status").status_code == 401


def test_a_login_with_a_read_only_key_may_only_read(mem: Memotherm) -> None:
    """A change is refused on the server, whatever the page offers."""
    client = browser(mem)
    client.post("/login", headers=bearer(mem.keys.create("audit", "acme", read_only=True)))

    assert client.get("/login").json()["read_only"]
    assert (
        client.post("/memories", json={"content": "An otter", "kind": "fact"}, headers=SAME_ORIGIN).json()["code"]
        == "read_only"
    )


def test_a_one_time_token_logs_one_browser_in(mem: Memotherm) -> None:
    """The second browser with the same address is refused, and the login is unknown to other servers."""
    first, second = browser(mem, "once"), browser(mem)
    second._transport = first._transport

    assert first.post("/login", headers=bearer("once")).json()["key"] is None
    assert first.get("/status").status_code == 200
    assert second.post("/login", headers=bearer("once")).status_code == 401
    other = browser(mem)
    other.cookies.update(first.cookies)
    assert other.get("/status").status_code == 401


@pytest.mark.parametrize("origin", [None, "http://127.0.0.1:9999", "null"])
def test_another_page_cannot_change_anything_with_the_cookie(mem: Memotherm, origin: str | None) -> None:
    """Browsers send a cookie to every port of a host, so that a change needs the Origin of this server."""
    client = browser(mem, "once")
    client.post("/login", headers=bearer("once"))
    headers = {} if origin is None else {"origin": origin}

    refused = client.post("/memories", json={"content": "forged", "kind": "fact"}, headers=headers)

    assert (refused.status_code, refused.json()["code"]) == (403, "wrong_origin")
    assert mem.count() == 0


def test_the_pages_are_served_under_a_strict_policy(mem: Memotherm) -> None:
    """Without a key: they hold no memories; nothing inline, nothing from elsewhere, and no other host name."""
    client = browser(mem)
    assets = re.findall(r'src="(.*)app\.js"', client.get("/").text)[0]
    for path in ("/", f"{assets}app.js", f"{assets}vendor/uPlot.iife.min.js"):
        answer = client.get(path)
        assert answer.status_code == 200, path
        policy = answer.headers["content-security-policy"]
        assert policy.startswith("default-src 'self';")
        assert "unsafe" not in policy
        assert client.get(path, headers={"host": "evil.example"}).status_code == 421
    assert client.get("/dashboard/../../pyproject.toml").status_code in (401, 404)
    assert client.get(f"{assets}none.js").status_code == 404
    assert client.get(f"{assets}%2e%2e/files.py").status_code == 404
    # A browser asks for a file once, and for the page, which has other addresses when a file has changed, each time.
    assert "immutable" in client.get(f"{assets}app.js").headers["cache-control"]
    assert client.get("/").headers["cache-control"] == "no-cache"


@pytest.mark.slow
def test_the_command_prints_an_address_that_logs_in_once(tmp_path: Path) -> None:
    """On the loopback address, for who has the token only, until it is interrupted."""
    command = [sys.executable, "-m", "memotherm", "dashboard", "--no-open", "--json", "--store", str(tmp_path / "a.db")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment(tmp_path / "home")) as process:
        try:
            require_one_login(process)
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130


def require_one_login(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    page, token = json.loads(process.stdout.readline())["address"].split("#/?token=")
    assert page.startswith("http://127.0.0.1:")
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{page}status")
    login = urllib.request.Request(f"{page}login", method="POST", headers=bearer(token))
    with urllib.request.urlopen(login) as answer:
        cookie = answer.headers["set-cookie"].partition(";")[0]
    with urllib.request.urlopen(urllib.request.Request(f"{page}status", headers={"cookie": cookie})) as answer:
        assert answer.status == 200
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(login)
