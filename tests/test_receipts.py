"""Receipts are kept: what was injected into which session, and why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import Memory, Memotherm, NotFound
from memotherm.model import receipts
from memotherm.testing import FakeClock

Open = Callable[..., Memotherm]


def test_a_session_can_be_asked_what_was_injected_and_why(mem: Memotherm, clock: FakeClock) -> None:
    """Each context that considered something has a receipt, newest first, with ids, tokens and reasons."""
    pinned = mem.remember("Be kind", priority="pinned")
    fact = mem.remember("Otters live in the river")
    session = mem.session("s1")
    start = session.session_start()
    clock.advance(minutes=1)
    turn = session.before_turn("where do otters live?", budget=500)
    session.before_turn("where do otters live?", budget=500)
    mem.session("s2").session_start()

    third, second, first = mem.receipts.list(session="s1")
    assert (third.included, third.tokens) == ((), 0)
    assert {entry.id: entry.reason.rpartition("; ")[2] for entry in third.left_out} == dict.fromkeys(
        [pinned.id, fact.id], "already given in this session"
    )
    assert [entry.id for entry in first.included] == [pinned.id]
    assert (first.at, first.scope.session, first.query) == (start.receipt.at, "s1", None)
    assert (second.query, second.tokens, second.budget) == ("where do otters live?", turn.tokens, 500)
    (entry,) = second.included
    (told,) = turn.included
    assert (entry.id, entry.section, entry.form) == (fact.id, "recalled", "full")
    assert (entry.tokens, entry.reason) == (told.tokens, told.reason)
    assert entry.score == pytest.approx(told.score, abs=1e-3)
    assert [receipt.scope.session for receipt in mem.receipts.list()] == ["s2", "s1", "s1", "s1"]
    page = mem.receipts.list(limit=3)
    assert [len(page), len(mem.receipts.list(limit=3, cursor=page.cursor))] == [3, 1]
    brief = mem.receipts.list(session="s1", entries=False)
    assert [(each.tokens, each.included, each.left_out) for each in brief] == [
        (0, (), ()), (turn.tokens, (), ()), (start.tokens, (), ()),
    ]  # fmt: skip
    assert [each.given_tokens for each in brief] == [pinned.tokens + fact.tokens, pinned.tokens, 0]


def test_a_receipt_says_what_was_left_out_for_want_of_space(open_mem: Open) -> None:
    """What was found and did not fit is kept with its reason, and reading the context's own receipt changes nothing."""
    # By words alone, all of them are equally relevant.
    mem = open_mem(embedder="none")
    for number in range(70):
        mem.remember(f"Otter number {number} lives in the river near the old mill{' and sleeps' * 100}.")
    low = mem.remember("An otter of little interest lives in the river", priority="low")
    context = mem.context("where do otters live in the river?", budget=2400)
    (kept,) = mem.receipts.list()

    assert [entry.id for entry in kept.included] == [entry.id for entry in context.included]
    told = {entry.id: entry for entry in context.left_out}
    assert len(kept.left_out) == 25
    assert {entry.id for entry in kept.left_out} <= told.keys()
    assert {entry.form for entry in kept.left_out} == {None}
    reasons = {entry.reason.partition("; ")[2] for entry in kept.left_out if entry.id != low.id}
    assert reasons == {"no room left in 2400 tokens"}


def test_a_memory_is_explained_that_was_or_was_not_in_a_context(mem: Memotherm, clock: FakeClock) -> None:
    """The answer says: included, left out, or why it was not considered at the time of the receipt."""
    ana = mem.scoped(user="ana")
    river = ana.remember("Otters live in the river")
    cold = ana.remember("Otters lived in the old mill once", tier="cold")
    archived = ana.remember("Otters live in the zoo")
    ana.archive(archived.id)
    expired = ana.remember("Otters live in the pond this minute", ttl=30)
    other = mem.scoped(user="ben").remember("Otters live in the sea")
    clock.advance(minutes=1)
    session = ana.session("s1")
    session.before_turn("where do otters live?")
    session.before_turn("where do otters live?")
    clock.advance(minutes=1)
    later = ana.remember("Otters live in the lake")
    ana.restore(archived.id)
    ana.move(cold.id, "hot")
    second, first = mem.receipts.list()

    def answer(memory: Memory, number: int = first.number) -> tuple[str, str]:
        found = mem.receipts.explain(number, memory.id)
        assert (found.receipt, found.id) == (number, memory.id)
        return found.state, found.reason

    assert answer(river) == ("included", first.included[0].reason)
    assert answer(river, second.number) == ("left_out", second.left_out[0].reason)
    assert "already given" in answer(river, second.number)[1]
    for memory, reason in (
        (cold, "cold"), (archived, "archived then"), (expired, "had expired"), (other, "user=ben"), (later, "later"),
    ):  # fmt: skip
        state, told = answer(memory)
        assert (state, reason in told) == ("not_considered", True), told


def test_what_did_not_fit_is_explained_with_the_budget_that_it_fits_at_now(mem: Memotherm) -> None:
    """With that budget a turn has it, beside what the session was given before; with one token less, it has not."""
    mem.remember_many(
        [{"content": f"Otter {number} swims in the river every day", "tier": "hot"} for number in range(20)]
    )
    session = mem.session("s1")
    session.before_turn("what does the otter do?", budget=100)
    session.before_turn("what does the otter do?", budget=100)
    second, first = mem.receipts.list()
    waiting = [entry.id for entry in second.left_out if entry.rule == "budget"]
    fits = {each: mem.receipts.explain(second.number, each).fits_at or 0 for each in waiting}
    alone = {each: mem.receipts.explain(first.number, each).fits_at or 0 for each in waiting}
    assert all(100 < fits[each] < alone[each] for each in waiting)
    next_one = min(fits, key=lambda each: fits[each])
    for budget, has in ((fits[next_one] - 1, False), (fits[next_one], True)):
        again = mem.session(f"with {budget}")
        again.before_turn("what does the otter do?", budget=100)
        context = again.before_turn("what does the otter do?", budget=budget)
        assert (next_one in {entry.id for entry in context.included}) is has


@pytest.mark.slow
def test_every_reason_is_the_recorded_one_however_many_memories_are_hot(open_mem: Open, clock: FakeClock) -> None:
    """What the session was given, with the turn; a full section; what was never recorded is not guessed."""
    mem = open_mem(settings={"hot_max_facts": 20})
    hot = mem.remember_many([{"content": f"Otter {number} swims", "tier": "hot"} for number in range(60)])
    session = mem.session("s1")
    session.session_start(budget=4000)
    clock.advance(minutes=1)
    session.before_turn("what does the heron eat?", budget=300)
    turn, start = mem.receipts.list()
    given = {entry.id for entry in start.included}
    assert len(given) == 20
    answers = {memory.id: mem.receipts.explain(turn.number, memory.id) for memory in hot}

    assert {(answers[memory_id].rule, answers[memory_id].given_in) for memory_id in given} == {("given", start.number)}
    refused = [mem.receipts.explain(start.number, memory.id) for memory in hot if memory.id not in given]
    assert {answer.rule for answer in refused} == {"hot_max_facts"}
    assert {answer.reason for answer in refused} == {"current work; the hot block is full at 20 memories"}
    for number in range(200):
        mem.remember(f"Heron {number} fishes", tier="hot")
    clock.advance(minutes=1)
    session.before_turn("what does the heron eat?", budget=300)
    oldest = mem.receipts.explain(turn.number + 1, hot[0].id)
    assert (oldest.state, oldest.rule) == ("not_considered", "unknown")
    assert "not record" in oldest.reason


@pytest.mark.parametrize("budget", [120, 200, 300, 2000])
def test_a_kept_receipt_names_the_limit_that_the_context_named(open_mem: Open, budget: int) -> None:
    """What the hot block never takes is not said to lack budget, whichever of both limits is reached first."""
    mem = open_mem(settings={"hot_max_tokens": 220})
    mem.remember_many(
        [{"content": f"Otter {number} swims in the river every day", "tier": "hot"} for number in range(20)]
    )
    context = mem.context("what does the otter do?", budget=budget)
    kept = mem.receipts.list().receipts[0]
    told = {entry.id: entry.reason for entry in context.left_out}
    assert "hot_max_tokens" in {entry.rule for entry in context.left_out}
    assert {entry.id: entry.reason for entry in kept.left_out} == told


def test_a_context_is_made_again_as_it_was_sent(mem: Memotherm, clock: FakeClock) -> None:
    """From the receipt and the memories of then, in every form; an edit since then is told."""
    mem.remember("Be kind", priority="pinned")
    long = mem.remember("Otters live in the river. " + "They sleep on the bank. " * 60)
    otter = mem.remember("Otters eat fish", tier="hot")
    sent = mem.context("where do otters live?", budget=120)
    (receipt,) = mem.receipts.list()
    assert long.id in {entry.id for entry in sent.included if entry.form == "shortened"}
    again = mem.receipts.sent(receipt.number)

    assert ("".join(part.text for part in again.parts), again.exact) == (sent.text, True)
    assert [part.id for part in again.parts if part.id] == [entry.id for entry in sent.included]
    clock.advance(minutes=1)
    mem.update(otter.id, content="Otters eat crabs")
    edited = mem.receipts.sent(receipt.number)
    assert "Otters eat fish" in "".join(part.text for part in edited.parts)
    assert not edited.exact


def test_a_context_is_made_again_with_the_marks_that_were_sent(mem: Memotherm, clock: FakeClock) -> None:
    """Of a conflict, and of a task that is overdue."""
    mem.remember_many({"content": f"The staging port is {port}"} for port in (5433, 5544))
    mem.remember("Oil the crane", kind="task", metadata={"due": f"{clock():%Y-%m-%d}"})
    clock.advance(days=2)
    session = mem.session("s1")
    marks = []
    for question in (None, "the staging port?"):
        sent = session.before_turn(question) if question else session.session_start()
        receipt, *_ = mem.receipts.list()
        again = mem.receipts.sent(receipt.number)
        assert ("".join(part.text for part in again.parts), again.exact) == (sent.text, True)
        marks += [entry.mark for entry in receipt.included]
    assert marks == ["overdue since 5 January", "conflict", "conflict"]


def test_a_receipt_is_explained_inside_its_scope_only(mem: Memotherm) -> None:
    """Neither the receipt nor the memory of another user can be asked about."""
    ana, ben = mem.scoped(user="ana"), mem.scoped(user="ben")
    mine, theirs = ana.remember("Be kind", priority="pinned"), ben.remember("Be quick", priority="pinned")
    for view in (ana, ben):
        view.context()
    of_ben, of_ana = mem.receipts.list()

    assert ana.receipts.explain(of_ana.number, mine.id).state == "included"
    for number, memory in ((of_ben.number, mine), (of_ana.number, theirs), (99, mine), (0, mine)):
        with pytest.raises(NotFound):
            ana.receipts.explain(number, memory.id)


def test_receipts_are_seen_from_their_scope_and_around_it_only(mem: Memotherm) -> None:
    """Neither another user nor another tenant reads what was injected."""
    ann, rival = mem.scoped(tenant="acme", user="ann"), mem.scoped(tenant="rival")
    for view in (ann, rival):
        view.remember("Be kind", priority="pinned")
        view.session("s1").session_start()

    assert [receipt.scope.user for receipt in mem.scoped(tenant="acme").receipts.list()] == ["ann"]
    assert len(ann.receipts.list("s1")) == 1
    assert len(mem.scoped(tenant="acme", user="bob").receipts.list()) == 0
    assert [receipt.scope.tenant for receipt in rival.receipts.list()] == ["rival"]


def test_a_purge_erases_a_memory_from_receipts_and_from_the_recall_log(mem: Memotherm) -> None:
    """The receipt stays without the memory and the query, and queries that returned it are deleted."""
    kept = mem.remember("Be kind", priority="pinned")
    secret = mem.remember("The code is 4711")
    mem.context("what is the code 4711?")
    mem.recall("code 4711")
    mem.purge(secret.id)

    (receipt,) = mem.receipts.list()
    assert ([entry.id for entry in receipt.included], receipt.query) == ([kept.id], None)
    assert mem.metrics().recall_latency_ms == 0


def test_maintenance_deletes_old_receipts(mem: Memotherm, clock: FakeClock) -> None:
    """A receipt is kept for `log_days`."""
    mem.remember("Be kind", priority="pinned")
    mem.context()
    clock.advance(days=20)
    mem.context()
    clock.advance(days=15)
    mem.maintain()

    assert len(mem.receipts.list()) == 1


@pytest.mark.sqlite
def test_receipts_and_the_texts_of_queries_can_be_switched_off(open_mem: Open, tmp_path: Path) -> None:
    """`log_days = 0` keeps none; without the text in the recall log, a receipt has no query."""
    off = open_mem(tmp_path / "off.db", settings={"log_days": 0})
    quiet = open_mem(tmp_path / "quiet.db", settings={"recall_log": "off"})
    for mem in (off, quiet):
        mem.remember("Be kind", priority="pinned")
        mem.context("kindness please")
        mem.context("kindness please", track=False)

    assert len(off.receipts.list()) == 0
    assert [receipt.query for receipt in quiet.receipts.list()] == [None]
    assert b"kindness please" not in (tmp_path / "quiet.db-wal").read_bytes()


@pytest.mark.sqlite
def test_a_purge_leaves_no_query_about_the_memory_in_the_file(open_mem: Open, tmp_path: Path) -> None:
    """What was asked and returned the memory is in no file of the store afterwards."""
    mem = open_mem(tmp_path / "agent.db")
    secret = mem.remember("The code of the vault is 4711")
    mem.context("what is the code of the vault, Ana?")
    mem.recall("what is the code of the vault, Ana?")
    mem.purge(secret.id)
    mem.maintain()

    for path in tmp_path.glob("agent.db*"):
        assert path.is_dir() or b"vault, Ana" not in path.read_bytes()


def test_each_reason_is_true_at_every_small_budget(open_mem: Open) -> None:
    """Where nothing fits, the frame or what is pinned is the reason for all; elsewhere something comes before."""
    mem = open_mem(settings={"context_min_confidence": 0.0})
    mem.remember("Be kind", priority="pinned")
    mem.remember("The vault moves on Friday", tier="hot")
    mem.remember("Otters rest in the vault", tier="hot", priority="low")
    mem.remember("Otters live in the river by the vault")
    some = 0
    for budget in (*range(41), 60, 80):
        context = mem.context("where do otters live?", budget=budget)
        rules = {entry.rule for entry in context.left_out}
        if context.included:
            some += 1
            assert rules <= {"on_pinned_overflow", "budget", "low"}, budget
            for entry in context.left_out:
                assert entry.fits_at is not None
                assert entry.fits_at > budget
        else:
            told = {entry.reason.rpartition("; ")[2] for entry in context.left_out}
            if not budget:
                expected = ("off", "a budget of 0 turns the context off")
            elif budget <= 30:
                expected = ("frame", f"nothing fits into {budget} tokens: the frame alone takes 30")
            else:
                expected = ("on_pinned_overflow", f"the pinned memories need 44 tokens, and the budget is {budget}")
            assert ({expected[0]}, {expected[1]}) == (rules, told), budget
        if budget:
            kept = mem.receipts.list(limit=1).receipts[0]
            assert {entry.id: entry.reasons for entry in kept.left_out} == {
                entry.id: entry.reasons for entry in context.left_out
            }
    assert some > 1


def test_what_pinned_memories_keep_out_is_not_said_to_lack_room_beside_the_frame(open_mem: Open) -> None:
    """Nothing enters before the pinned memories do, also where something else would have fitted."""
    mem = open_mem()
    mem.remember("Go", tier="hot")
    alone = mem.context(budget=45, track=False)
    assert [entry.content for entry in alone.included] == ["Go"]
    pinned = mem.remember("Speak to ana in whole sentences of at most twelve words, never in lists", priority="pinned")
    for budget in (31, 45):
        context = mem.context(budget=budget)
        assert context.text == ""
        needed = mem.context(budget=200, track=False).tokens
        for entry in context.left_out:
            assert "the frame alone" not in entry.reason
            assert entry.rule == "on_pinned_overflow"
        (overflow,) = [entry for entry in context.left_out if entry.id == pinned.id]
        assert f"and the budget is {budget}" in overflow.reason
        assert needed > budget
    assert {entry.rule for entry in mem.context(budget=30).left_out} == {"frame"}


def test_a_memory_that_is_too_long_by_itself_is_not_blamed_on_the_frame(open_mem: Open) -> None:
    """The frame is the reason only where it takes the whole budget."""
    mem = open_mem()
    memory = mem.remember("The harbour office opens at eight on every weekday but Friday " * 4, tier="hot")
    (left_out,) = mem.context(budget=5, track=False).left_out
    fits_at = left_out.fits_at or 0
    assert fits_at > 32
    for budget in (5, 30, 31, fits_at - 1):
        (entry,) = mem.context(budget=budget).left_out
        (kept,) = mem.receipts.list(limit=1).receipts[0].left_out
        assert entry.reasons == kept.reasons
        told = entry.reason.rpartition("; ")[2]
        if budget <= 30:
            assert told == f"nothing fits into {budget} tokens: the frame alone takes 30"
        else:
            assert told == f"no memory fits into {budget} tokens beside the frame of 30"
    assert [entry.id for entry in mem.context(budget=fits_at).included] == [memory.id]


@pytest.mark.parametrize("priority", ["normal", "low"])
@pytest.mark.parametrize(("limit", "most"), [("hot_max_facts", 1), ("hot_max_tokens", 55)])
def test_a_memory_beyond_the_limit_of_hot_is_kept_with_that_reason(
    limit: str, most: int, priority: str, open_mem: Open
) -> None:
    """A larger budget would not bring it in, so the budget is not the reason, however small it is."""
    mem = open_mem(settings={limit: most})
    mem.remember("The vault moves on Friday", tier="hot", priority=priority)
    mem.remember("The vault is green", tier="hot", priority=priority)
    for budget in (5, 45, 400):
        told = {entry.id: entry.reasons for entry in mem.context(budget=budget).left_out}
        kept = {entry.id: entry.reasons for entry in mem.receipts.list(limit=1).receipts[0].left_out}
        assert limit in {reasons[-1].code for reasons in told.values()}
        assert kept == told, budget


def test_the_receipt_of_a_scope_that_stores_nothing_has_its_agent_and_session(mem: Memotherm) -> None:
    """It is kept under the scope of the context, is found from there, and takes feedback."""
    mem.scoped(project="shop").remember("Otters live in the river")
    coder = mem.scoped(project="shop", agent="coder")
    coder.context("where do otters live?")
    coder.scoped(session="s7").context("where do otters live?")
    coder.scoped(session="s8").read_only().context("where do otters live?")

    last, first = mem.receipts.list()
    assert [str(first.scope), str(last.scope)] == ["project=shop agent=coder", "project=shop agent=coder session=s7"]
    assert [each.number for each in coder.receipts.list(session="s7")] == [last.number]
    assert coder.feedback(answer="They live in the river").reflected
    assert [str(each.scope) for each in mem.inspect.scopes()] == ["project=shop"]


def test_every_reason_to_consider_a_memory_belongs_to_a_part_of_the_context() -> None:
    """The bar of a context on the dashboard leaves none out."""
    considered = [
        code for code in receipts.WORDS if list(receipts.WORDS).index(code) < list(receipts.WORDS).index("shortened")
    ]
    assert set(considered) == set(receipts.PARTS)
