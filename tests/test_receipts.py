"""Receipts are kept: what was injected into which session, and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.testing import FakeClock

Open = Callable[..., Memotherm]


def test_a_session_can_be_asked_what_was_injected_and_why(mem: Memotherm, clock: FakeClock) -> None:
    """Each context that included something has a receipt, newest first, with ids, tokens and reasons."""
    pinned = mem.remember("Be kind", priority="pinned")
    fact = mem.remember("Otters live in the river")
    session = mem.session("s1")
    start = session.session_start()
    clock.advance(minutes=1)
    turn = session.before_turn("where do otters live?", budget=500)
    session.before_turn("where do otters live?", budget=500)
    mem.session("s2").session_start()

    second, first = mem.receipts(session="s1")
    assert [entry.id for entry in first.included] == [pinned.id]
    assert (first.at, first.scope.session, first.query) == (start.receipt.at, "s1", None)
    assert (second.query, second.tokens, second.budget) == ("where do otters live?", turn.tokens, 500)
    (entry,) = second.included
    (told,) = turn.included
    assert (entry.id, entry.section, entry.form) == (fact.id, "recalled", "full")
    assert (entry.tokens, entry.reason) == (told.tokens, told.reason)
    assert entry.score == pytest.approx(told.score, abs=1e-3)
    assert [receipt.scope.session for receipt in mem.receipts()] == ["s2", "s1", "s1"]
    page = mem.receipts(limit=2)
    assert [len(page), len(mem.receipts(limit=2, cursor=page.cursor))] == [2, 1]


def test_receipts_are_seen_from_their_scope_and_around_it_only(mem: Memotherm) -> None:
    """Neither another user nor another tenant reads what was injected."""
    ann, rival = mem.scoped(tenant="acme", user="ann"), mem.scoped(tenant="rival")
    for view in (ann, rival):
        view.remember("Be kind", priority="pinned")
        view.session("s1").session_start()

    assert [receipt.scope.user for receipt in mem.scoped(tenant="acme").receipts()] == ["ann"]
    assert len(ann.receipts("s1")) == 1
    assert len(mem.scoped(tenant="acme", user="bob").receipts()) == 0
    assert [receipt.scope.tenant for receipt in rival.receipts()] == ["rival"]


def test_a_purge_erases_a_memory_from_receipts_and_from_the_recall_log(mem: Memotherm) -> None:
    """The receipt stays without the memory and the query, and queries that returned it are deleted."""
    kept = mem.remember("Be kind", priority="pinned")
    secret = mem.remember("The code is 4711")
    mem.context("what is the code 4711?")
    mem.recall("code 4711")
    mem.purge(secret.id)

    (receipt,) = mem.receipts()
    assert ([entry.id for entry in receipt.included], receipt.query) == ([kept.id], None)
    assert mem.metrics().recall_latency_ms == 0


def test_maintenance_deletes_old_receipts(mem: Memotherm, clock: FakeClock) -> None:
    """A receipt is kept for `receipt_days`."""
    mem.remember("Be kind", priority="pinned")
    mem.context()
    clock.advance(days=20)
    mem.context()
    clock.advance(days=15)
    mem.maintain()

    assert len(mem.receipts()) == 1


@pytest.mark.sqlite
def test_receipts_and_the_texts_of_queries_can_be_switched_off(open_mem: Open, tmp_path: Path) -> None:
    """`receipt_days = 0` keeps none; without the text in the recall log, a receipt has no query."""
    off = open_mem(tmp_path / "off.db", settings={"receipt_days": 0})
    quiet = open_mem(tmp_path / "quiet.db", settings={"recall_log": "off"})
    for mem in (off, quiet):
        mem.remember("Be kind", priority="pinned")
        mem.context("kindness please")
        mem.context("kindness please", track=False)

    assert len(off.receipts()) == 0
    assert [receipt.query for receipt in quiet.receipts()] == [None]
    assert b"kindness please" not in (tmp_path / "quiet.db-wal").read_bytes()


@pytest.mark.sqlite
def test_a_purge_leaves_no_query_about_the_memory_in_the_file(open_mem: Open, tmp_path: Path) -> None:
    """What was asked and returned the memory is in no file of the store afterwards."""
    mem = open_mem(tmp_path / "agent.db")
    secret = mem.remember("The code of the vault is 4711")
    mem.context("which vault code did Ana write down?")
    mem.recall("which vault code did Ana write down?")
    mem.purge(secret.id)
    mem.maintain()

    for path in tmp_path.glob("agent.db*"):
        assert path.is_dir() or b"did Ana write" not in path.read_bytes()
