"""Changing, hiding, erasing and taking back, each with its line in the ledger."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import memotherm
import memotherm.errors
from memotherm import Memory, Memotherm, Retention, Scope, Tier
from memotherm.errors import InvalidInput, NotFound, StaleWrite
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import contents, opened


def found(mem: Memotherm, query: str, **arguments: object) -> list[str]:
    return [hit.memory.id for hit in mem.recall(query, **{"track": False, **arguments})]  # type: ignore[arg-type]


def test_an_update_changes_what_is_found(mem: Memotherm, clock: FakeClock) -> None:
    """New content is findable by word and by meaning at once, the old no more; the id stays."""
    memory = mem.remember("The meeting is on Monday", tags=["calendar"])
    mem.recall("meeting Monday")
    clock.advance(hours=1)
    changed = mem.update(memory.id, content="Dinner at the harbour", tags=["food"], why="plans changed")

    assert changed.id == memory.id
    assert (changed.created_at, changed.updated_at) == (memory.created_at, clock.now)
    assert changed.tokens != 0
    assert mem.recall("dinner harbour")[0].why.text is not None
    assert all(hit.why.text is None for hit in mem.recall("meeting Monday calendar"))
    (vector,) = [hit.why.vector for hit in mem.recall("Dinner at the harbour")]
    assert vector == pytest.approx(1.0, abs=0.01)
    assert found(mem, "food", tags=["food"]) == [memory.id]
    assert found(mem, "food", tags=["calendar"]) == []


def test_an_update_leaves_out_what_is_left_out(mem: Memotherm, clock: FakeClock) -> None:
    """Fields that are not named stay, and an update that changes nothing leaves no event."""
    memory = mem.remember("The meeting", kind="task", tags=["a"], metadata={"x": 1}, tier="hot", priority="important")

    changed = mem.update(memory.id, ttl="2d")
    assert changed.expires_at == clock.now + timedelta(days=2)
    assert (changed.kind, changed.tags, changed.metadata, changed.tier) == ("task", ("a",), {"x": 1}, "hot")
    assert mem.update(memory.id, kind="task", tags=["a"]) == changed
    assert len(mem.history(memory.id)) == 2


@pytest.mark.parametrize("target", ["hot", "warm", "cold"])
@pytest.mark.parametrize("start", ["hot", "warm", "cold"])
def test_a_move_changes_where_a_memory_is_found(mem: Memotherm, clock: FakeClock, start: str, target: str) -> None:
    """Both indexes follow the tier, whatever it was and becomes."""
    memory = mem.remember("the red boat", tier=start)
    found(mem, "boat", tiers=tuple(Tier))
    clock.advance(days=1)
    moved = mem.move(memory.id, target, why="because")

    assert moved.tier == target
    assert moved.tier_since == (memory.tier_since if start == target else clock.now)
    for tier in Tier:
        hits = mem.recall("the red boat", tiers=(tier,), track=False)
        assert [hit.memory.id for hit in hits] == ([memory.id] if tier == target else [])
        assert all(hit.why.vector and hit.why.text for hit in hits)


def test_unpinning_gives_normal_priority_to_pinned_memories_only(mem: Memotherm) -> None:
    """`unpin` is not a way to lower a critical memory (E06)."""
    pinned, critical = mem.remember("a", priority="pinned"), mem.remember("b", priority="critical")

    assert mem.unpin(pinned.id).priority == "normal"
    assert mem.unpin(critical.id).priority == "critical"
    assert len(mem.history(critical.id)) == 1


def test_hidden_memories_come_back_as_they_were(mem: Memotherm) -> None:
    """Archiving or forgetting and restoring keeps tier, priority, tags, and both indexes."""
    for hide in (mem.archive, mem.forget):
        memory = mem.remember(f"the red boat {hide.__name__}", tier="cold", priority="important", tags=["x"])
        hide(memory.id)
        assert found(mem, "boat", tiers=tuple(Tier)) == []

        back = mem.restore(memory.id)

        assert (back.tier, back.priority, back.tags, back.retention) == ("cold", "important", ("x",), "active")
        hit = mem.recall("the red boat", tiers="cold")[0]
        assert (hit.memory.id, hit.why.text is None, hit.why.vector is None) == (memory.id, False, False)
        mem.purge(memory.id)


def test_a_restored_memory_that_had_expired_does_not_expire_again(mem: Memotherm, clock: FakeClock) -> None:
    """Restoring something makes it visible, whatever its time to live said."""
    memory = mem.forget(mem.remember("the code", ttl="1h").id)
    clock.advance(hours=2)

    assert mem.restore(memory.id).expires_at is None
    assert found(mem, "code", tiers="cold") == [memory.id]


# The ledger


def test_every_change_has_an_event(mem: Memotherm, clock: FakeClock) -> None:
    """Who, when, which rule, from what, to what: for each change one line, in order."""
    agent = mem.scoped(agent="planner")
    memory = agent.remember("The plan")
    clock.advance(minutes=1)
    agent.move(memory.id, "hot", why="needed today")
    agent.prioritize(memory.id, "critical")
    agent.update(memory.id, content="The new plan")
    agent.archive(memory.id)
    agent.restore(memory.id)
    agent.forget(memory.id)
    agent.restore(memory.id)
    history = agent.history(memory.id)

    actions = ["remember", "move", "prioritize", "update", "archive", "restore", "forget", "restore"]
    assert [event.action for event in history] == actions
    assert [event.seq for event in history] == sorted({event.seq for event in history})
    assert {event.actor for event in history} == {"planner"}
    assert (history[1].at, history[1].why, history[1].rule) == (clock.now, "needed today", "explicit")
    assert history[1].changes["tier"] == ("warm", "hot")
    assert history[2].changes == {"priority": ("normal", "critical")}
    assert history[3].changes["content"] == ("The plan", "The new plan")
    assert agent.get(memory.id).version == history[-1].seq == agent.status().seq


Change = Callable[[Memotherm, str], Memory]
UNDOABLE: dict[str, Change] = {
    "move": lambda mem, known: mem.move(known, "cold"),
    "prioritize": lambda mem, known: mem.prioritize(known, "critical"),
    "pin": lambda mem, known: mem.pin(known),
    "content": lambda mem, known: mem.update(known, content="something else entirely"),
    "tags": lambda mem, known: mem.update(known, tags=["other"]),
    "metadata": lambda mem, known: mem.update(known, metadata={"b": 2}, kind="task"),
    "ttl": lambda mem, known: mem.update(known, ttl="5d"),
    "archive": lambda mem, known: mem.archive(known),
    "forget": lambda mem, known: mem.forget(known),
}


@pytest.mark.parametrize("name", UNDOABLE)
def test_undo_puts_everything_back(mem: Memotherm, name: str) -> None:
    """After an undo the memory, its words and its vectors are what they were before the event."""
    memory = mem.remember("the red boat sails", tags=["sea"], metadata={"a": 1})
    before = mem.recall("the red boat sails", track=False)
    changed = UNDOABLE[name](mem, memory.id)

    back = mem.undo(changed.version)

    fields = ("content", "digest", "tokens", "tags", "metadata", "kind", "tier", "tier_rule", "priority", "retention")
    for field in (*fields, "expires_at", "scope"):
        assert getattr(back, field) == getattr(memory, field), field
    after = mem.recall("the red boat sails", track=False)
    assert [(hit.memory.id, hit.why) for hit in after] == [(hit.memory.id, hit.why) for hit in before]
    assert mem.history(memory.id)[-1].action == "undo"
    assert mem.check() == []


def test_an_undo_can_be_undone(mem: Memotherm) -> None:
    """Taking back the taking back is a change like any other; doing the same one twice is refused."""
    memory = mem.remember("the red boat")
    moved = mem.move(memory.id, "cold")
    undone = mem.undo(moved.version)
    with pytest.raises(StaleWrite):
        mem.undo(moved.version)

    assert mem.undo(undone.version).tier == "cold"


def test_the_undo_of_what_a_rule_did_names_the_rule(mem: Memotherm) -> None:
    """Its reason says whose change was taken back; what a caller did has no rule to name."""
    memory = mem.remember("ship the boat", kind="task", metadata={"status": "done"})
    (move,) = mem.compact().moves
    assert move.rule == "compact.done"
    ruled = mem.undo(mem.history(memory.id)[-1].seq)
    number = mem.history(memory.id)[-2].seq
    assert mem.history(memory.id)[-1].why == f"took back event {number}, made by the rule compact.done"
    again = mem.undo(ruled.version)
    assert mem.history(memory.id)[-1].why == f"took back event {ruled.version}"
    asked = mem.move(again.id, "hot")
    mem.undo(asked.version)
    assert mem.history(memory.id)[-1].why == f"took back event {asked.version}"
    stored = mem.remember("the red boat")
    mem.undo(stored.version)
    assert mem.history(stored.id)[-1].why == f"took back event {stored.version}"


def test_undoing_the_first_event_forgets_the_memory(mem: Memotherm) -> None:
    """What remembered a memory is taken back by forgetting it, and that can be restored."""
    memory = mem.remember("the red boat")

    assert mem.undo(memory.version).retention == "deleted"
    assert found(mem, "boat") == []
    assert mem.restore(memory.id).retention == "active"


def test_a_whole_run_is_undone_by_one_of_its_events(mem: Memotherm, clock: FakeClock) -> None:
    """All that one call has changed, and nothing that other calls or actors did."""
    boats = mem.remember_many([{"content": f"boat {number} is done", "kind": "boat"} for number in range(7)])
    clock.advance(hours=1)
    ana = mem.scoped(user="ana")
    other = ana.forget(ana.remember("a canoe").id)
    gone = mem.bulk.forget("sold", kind="boat")
    clock.advance(hours=1)
    later = mem.move(mem.remember("a raft").id, "cold")
    clock.advance(hours=1)

    undone = mem.bulk.undo([gone[3].version], run=True)

    assert ({memory.id for memory in undone.memories}, undone.skipped) == ({boat.id for boat in boats}, ())
    assert mem.count(kind="boat") == 7
    assert ana.get(other.id).retention == "deleted"
    assert mem.get(later.id).tier == "cold"
    again = mem.bulk.undo([undone.memories[0].version], run=True)
    assert {memory.retention for memory in again.memories} == {Retention.DELETED}


def test_of_several_events_the_newest_is_undone_first(mem: Memotherm) -> None:
    """Two changes of one memory are both undone; its words and vectors are those of the beginning."""
    memory = mem.remember("the red boat sails")
    first = mem.update(memory.id, content="the blue boat sails")
    second = mem.update(memory.id, content="the green boat sails")

    undone = mem.bulk.undo([first.version, second.version])

    assert [each.content for each in undone.memories] == ["the blue boat sails", "the red boat sails"]
    assert found(mem, "red") == [memory.id]
    again = mem.bulk.undo([each.version for each in undone.memories])
    assert again.memories[-1].content == "the green boat sails"


def test_an_event_that_cannot_be_undone_is_skipped_with_the_reason(mem: Memotherm) -> None:
    """The others are undone; an event that does not exist is an error, and nothing is changed."""
    kept, changed, purged = (mem.remember(f"boat {number}") for number in range(3))
    moves = [mem.move(memory.id, "cold").version for memory in (kept, changed, purged)]
    mem.prioritize(changed.id, "low")
    mem.move(changed.id, "hot")
    mem.purge(purged.id)
    with pytest.raises(NotFound, match="no event 999"):
        mem.bulk.undo([moves[0], 999])
    assert mem.get(kept.id).tier == "cold"

    undone = mem.bulk.undo(moves)

    assert [memory.id for memory in undone.memories] == [kept.id]
    assert {(skipped.seq, skipped.id) for skipped in undone.skipped} == {(moves[1], changed.id), (moves[2], purged.id)}
    reasons = {skipped.id: skipped.why for skipped in undone.skipped}
    assert "has changed again since" in reasons[changed.id]
    assert "was purged" in reasons[purged.id]
    for wrong in (moves[0], "42", ["42"]):
        with pytest.raises(InvalidInput, match="numbers of events"):
            mem.bulk.undo(wrong)


def test_events_of_narrower_scopes_and_tenants_are_undone_together(mem: Memotherm) -> None:
    """Only if that is asked for; from inside a tenant, nothing of another one is seen."""
    scopes = [{}, {"project": "harbor"}, {"tenant": "acme", "user": "ana"}, {"tenant": "zoo", "session": "s1"}]
    views = [mem.scoped(**fields) if fields else mem for fields in scopes]
    moved = [view.move(view.remember("a boat").id, "cold") for view in views]
    events = [memory.version for memory in moved]
    for view in (mem, mem.scoped(tenant="acme")):
        with pytest.raises(NotFound):
            view.bulk.undo(events, include_narrower=view is not mem)
    assert [view.get(memory.id).tier for view, memory in zip(views, moved, strict=True)] == ["cold"] * 4
    (seen,) = views[1].bulk.undo(events[:1], include_narrower=True).memories
    moved[0] = mem.move(seen.id, "cold")
    events[0] = moved[0].version

    undone = mem.bulk.undo(events, include_narrower=True)

    assert {memory.id for memory in undone.memories} == {memory.id for memory in moved}
    assert [view.get(memory.id).tier for view, memory in zip(views, moved, strict=True)] == ["warm"] * 4


# Purging


@pytest.mark.plain_file
@pytest.mark.sqlite
def test_a_purge_leaves_no_trace_of_the_content(tmp_path: Path) -> None:
    """Content, former contents, words, tags, metadata and vectors are gone from every file; events stay."""
    path = tmp_path / "agent.db"
    vectors = HashEmbedder().embed(["The passphrase is xylophone-quartz", "Its predecessor was bassoon-marble"])
    with opened(path) as mem:
        keep = mem.remember("The weather is fine", tags=["weather"])
        memory = mem.remember("Its predecessor was bassoon-marble", tags=["zitherish"], metadata={"k": "lutenist"})
        mem.update(memory.id, content="The passphrase is xylophone-quartz")
        mem.recall("fine weather")
        mem.purge(memory.id, why="asked to")
        mem.recall("fine weather")

        with pytest.raises(NotFound):
            mem.get(memory.id)
        assert [event.action for event in mem.history(memory.id)] == ["remember", "update", "purge"]
        assert all("content" not in event.changes for event in mem.history(memory.id))
        assert mem.status().retention[Retention.PURGED] == 1
        assert mem.get(keep.id).content == "The weather is fine"
        assert mem.check() == []

    kept = b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())
    for trace in (b"xylophon", b"quartz", b"bassoon", b"marble", b"zitherish", b"lutenist", b"passphras"):
        assert trace not in kept
    for vector in vectors:
        assert vector.astype("<f4").tobytes() not in kept
    assert hashlib.sha256(b"The passphrase is xylophone-quartz").digest() not in kept
    assert b"weather" in kept


def test_a_purged_content_is_embedded_anew(tmp_path: Path) -> None:
    """No cached vector of a purged content is used again; a copy in another scope keeps its own."""
    embedder = HashEmbedder(record=True)
    with opened(tmp_path / "agent.db", embedder=embedder) as mem:
        memory = mem.remember("The choir rehearses in the quartz room")
        mem.purge(memory.id)
        again = mem.remember("The choir rehearses in the quartz room")

        assert again.id != memory.id
        assert embedder.texts.count("The choir rehearses in the quartz room") == 2
        assert mem.check() == []


def test_purging_a_hidden_memory_works(mem: Memotherm) -> None:
    """Archived and forgotten memories can be erased too."""
    for hide in (mem.archive, mem.forget):
        memory = hide(mem.remember(f"to be erased after {hide.__name__}").id)
        mem.purge(memory.id)
        assert mem.history(memory.id)[-1].action == "purge"


# Listing and status


def test_pages_cover_everything_once(mem: Memotherm) -> None:
    """Pages go from the newest to the oldest, without gaps or repetition, while others write."""
    first = [memory.id for memory in mem.remember_many([{"content": f"entry {number}"} for number in range(25)])]
    seen: list[str] = []
    cursor = None
    while True:
        page = mem.find(limit=10, cursor=cursor)
        seen += [memory.id for memory in page]
        cursor = page.cursor
        mem.remember(f"written between pages {len(seen)}")
        if cursor is None:
            break

    assert seen == first[::-1]


def test_find_filters(mem: Memotherm) -> None:
    """Each filter narrows, and all together narrow more."""
    mem.remember("a", tier="hot", kind="task", tags=["x", "y"])
    mem.remember("b", tier="hot", priority="critical", tags=["y"])
    mem.archive(mem.remember("c", kind="task").id)

    assert contents(mem.find(tier="hot")) == ["b", "a"]
    assert contents(mem.find(tier="hot", kind="task")) == ["a"]
    assert contents(mem.find(tags=["x", "z"])) == ["a"]
    assert contents(mem.find(priority=1)) == ["b"]
    assert contents(mem.find(retention="archived")) == ["c"]
    assert contents(mem.find(tier="cold")) == []


def test_status_counts_what_the_scope_sees(mem: Memotherm) -> None:
    """Tiers and retention are counted, hidden memories apart from active ones."""
    mem.remember_many([{"content": f"warm {number}"} for number in range(3)])
    hot = mem.remember("hot", tier="hot")
    mem.forget(mem.remember("gone").id)
    mem.scoped(user="ann").remember("Ann's")

    status = mem.status()
    assert {tier: count.memories for tier, count in status.tiers.items()} == {"hot": 1, "warm": 3, "cold": 0}
    assert status.tiers[Tier.HOT].tokens == hot.tokens
    assert status.retention == {"active": 4, "archived": 0, "deleted": 1, "purged": 0, "proposed": 0}
    assert (status.embedder, status.pending_vectors, status.degraded) == ("hash-64-0", 0, ())
    assert status.bytes > 0
    assert mem.scoped(user="ann").status().tiers[Tier.WARM].memories == 4


# Checkpoints


@pytest.mark.sqlite
def test_tiers_and_priorities_survive_a_checkpoint(mem: Memotherm, tmp_path: Path) -> None:
    """A restored store has every memory as it was, its history, and finds the same (E37, W22)."""
    for tier in Tier:
        for priority in ("pinned", "critical", "important", "normal", "low"):
            mem.remember(f"{tier} {priority} boat", tier=tier, priority=priority, tags=[priority])
    mem.forget(mem.remember("a forgotten boat").id)
    copy = mem.checkpoint(tmp_path / "copy.db")
    assert memotherm.restore(copy, tmp_path / "new.db") == tmp_path / "new.db"

    with opened(tmp_path / "new.db", clock=FakeClock()) as restored:
        assert restored.find(limit=100).memories == mem.find(limit=100).memories
        assert restored.find(retention="deleted").memories == mem.find(retention="deleted").memories
        every = tuple(Tier)
        assert found(restored, "critical boat", tiers=every) == found(mem, "critical boat", tiers=every)
        memory = mem.find()[0]
        assert restored.history(memory.id) == mem.history(memory.id)
        assert restored.check() == []


@pytest.mark.sqlite
def test_a_checkpoint_is_a_store_of_its_own(mem: Memotherm, tmp_path: Path) -> None:
    """Writing to the copy changes nothing in the original, and the other way round."""
    mem.remember("before")
    copy = mem.checkpoint(tmp_path / "copy.db")
    mem.remember("after")

    with opened(copy) as other:
        assert contents(other.find()) == ["before"]
        other.remember("only in the copy")
    assert contents(mem.find()) == ["after", "before"]


@pytest.mark.sqlite
def test_a_checkpoint_never_overwrites(mem: Memotherm, tmp_path: Path) -> None:
    """An existing target is refused by both, and neither a target nor a temporary file is left behind."""
    mem.remember("before")
    copy = mem.checkpoint(tmp_path / "copy.db")
    (tmp_path / "taken.db").write_text("mine")
    names = sorted(file.name for file in tmp_path.iterdir())

    with pytest.raises(InvalidInput, match="choose a new file"):
        mem.checkpoint(tmp_path / "taken.db")
    with pytest.raises(InvalidInput, match="choose a new file"):
        memotherm.restore(copy, tmp_path / "taken.db")
    with pytest.raises(NotFound, match="no checkpoint"):
        memotherm.restore(tmp_path / "missing.db", tmp_path / "new.db")
    with pytest.raises(memotherm.errors.StoreUnavailable, match="create it first"):
        mem.checkpoint(tmp_path / "missing" / "copy.db")

    assert (tmp_path / "taken.db").read_text() == "mine"
    assert sorted(file.name for file in tmp_path.iterdir()) == names


@pytest.mark.sqlite
def test_a_store_in_memory_can_be_checkpointed(tmp_path: Path) -> None:
    """What lives in memory can be kept in a file."""
    with opened() as mem:
        mem.remember("kept")
        mem.checkpoint(tmp_path / "copy.db")

    with opened(tmp_path / "copy.db") as mem:
        assert contents(mem.find()) == ["kept"]


def test_a_view_sees_and_writes_its_own_scope(mem: Memotherm) -> None:
    """A narrower view writes into its scope and sees the wider ones; closing it closes nothing."""
    mem.remember("for everyone")
    with mem.scoped(user="ann", session="s1") as view:
        memory = view.remember("for Ann")
        assert memory.scope == Scope(user="ann", session="s1")
        assert set(contents(view.find())) == {"for everyone", "for Ann"}

    assert contents(mem.find()) == ["for everyone"]


def test_an_update_a_restore_or_a_keep_makes_no_duplicate(mem: Memotherm) -> None:
    """The error names the memory that has the content; `undo` still puts everything back."""
    first, other = mem.remember("The port is 5544"), mem.remember("The port is 5432")
    with pytest.raises(InvalidInput, match=first.id):
        mem.update(other.id, content="The port is 5544")
    mem.forget(first.id)
    again = mem.remember("The port is 5544")
    with pytest.raises(InvalidInput, match=again.id):
        mem.restore(first.id)
    session = mem.session("s1")
    added = session.add("The port is 5544", "fact")
    with pytest.raises(InvalidInput, match=again.id):
        session.keep(added.id)

    assert sorted(contents(mem.find())) == ["The port is 5432", "The port is 5544"]
    assert mem.update(other.id, kind="decision", content="The port is 5544").kind == "decision"
    mem.forget(again.id)
    assert mem.restore(first.id).retention == "active"


def test_memories_that_supersede_each_other_in_turn_form_no_circle(mem: Memotherm) -> None:
    """When an old content is true again, the one that had replaced it no longer claims to."""
    old = mem.remember("The door is red")
    new = mem.remember("The door is blue", supersedes=old.id)
    newest = mem.remember("The door is green", supersedes=new.id)
    mem.restore(old.id)
    again = mem.remember("The door is red", supersedes=newest.id)

    assert (again.id, again.supersedes) == (old.id, newest.id)
    assert [mem.get(memory.id).supersedes for memory in (newest, new)] == [new.id, None]


def test_only_a_sync_of_notes_makes_memories_of_files(mem: Memotherm) -> None:
    """Such a memory could not be updated, and no rule would move it."""
    with pytest.raises(InvalidInput, match="notes"):
        mem.remember("a fact", source="file:MEMORY.md")
    with pytest.raises(InvalidInput, match="notes"):
        mem.remember_many([{"content": "a fact", "source": " file:MEMORY.md"}])

    assert len(mem.find()) == 0


def test_a_verification_is_an_event_that_uses_and_changes_leave_alone(mem: Memotherm, clock: FakeClock) -> None:
    """`verified_at` moves by `verify` and `undo` only, and a verification is neither a use nor a change."""
    memory = mem.remember("The office is in Lisbon")
    clock.advance(days=1)
    verified = mem.verify(memory.id, why="asked Ana")
    clock.advance(days=1)
    mem.recall("office")
    mem.update(memory.id, tags=["places"])

    assert (memory.verified_at, verified.verified_at) == (None, clock.now - timedelta(days=1))
    assert (verified.updated_at, verified.access_count) == (memory.updated_at, 0)
    assert mem.get(memory.id).verified_at == verified.verified_at
    event = mem.history(memory.id)[1]
    assert (event.action, event.why, list(event.changes)) == ("verify", "asked Ana", ["verified_at"])
    again = mem.verify(memory.id)
    assert mem.undo(again.version).verified_at == verified.verified_at
    assert mem.undo(verified.version).verified_at is None
    mem.forget(memory.id)
    with pytest.raises(InvalidInput, match="restore"):
        mem.verify(memory.id)


@pytest.mark.sqlite
def test_a_hot_memory_that_is_updated_needs_room_only_for_what_it_grows_by(open_mem: Callable[..., Memotherm]) -> None:
    """In a session whose hot memory is full, a content of the same length spills nothing, and a longer one does."""
    texts = ("the ferry leaves at nine", "the museum opens at ten")
    tokens = [open_mem().session("s").add(text).tokens for text in texts]
    mem = open_mem(settings={"hot_token_limit": sum(tokens)})
    session = mem.session("s")
    first, second = (session.add(text) for text in texts)

    mem.scoped(session="s").update(second.id, content="the museum opens at six")
    assert {memory.id for memory in session.hot()} == {first.id, second.id}
    mem.scoped(session="s").update(second.id, content="the museum opens at six today")
    assert {memory.id for memory in session.hot()} == {second.id}


def test_a_memory_moves_to_another_scope_of_its_tenant(mem: Memotherm) -> None:
    """What sees it changes at once, and one undo takes it back; a tenant cannot be named, a bad scope is refused."""
    memory = mem.scoped(project="shop").remember("The till has a drawer")
    moved = mem.scoped(project="shop").rescope(memory.id, {"project": "depot"})
    assert found(mem.scoped(project="depot"), "till drawer") == [memory.id]
    assert found(mem.scoped(project="shop"), "till drawer") == []
    for scope in ({"tenant": "acme"}, {"colour": "red"}, {"self": "x"}, "project=depot"):
        with pytest.raises(InvalidInput):
            mem.scoped(project="depot").rescope(memory.id, scope)  # type: ignore[arg-type]
    mem.scoped(project="depot").undo(moved.version)
    assert found(mem.scoped(project="shop"), "till drawer") == [memory.id]


@pytest.mark.parametrize("given", [[1], "1", True, None, 1.0])
def test_undo_takes_the_number_of_one_event(mem: Memotherm, given: Any) -> None:
    """A list is refused with the verb that takes one, and nothing is undone."""
    memory = mem.remember("the port is 5433")
    with pytest.raises(InvalidInput, match="takes several"):
        mem.undo(given)
    assert mem.get(memory.id).retention == "active"


def test_hot_is_cooled_to_its_limit_by_one_call_and_back_by_one_run(
    open_mem: Callable[..., Memotherm], clock: FakeClock
) -> None:
    """Those not used for longest go to warm, however many there are; pinned, critical and other scopes stay."""
    mem = open_mem(settings={"hot_max_tokens": 200})
    shop = mem.scoped(project="shop")
    rule = shop.remember("Be kind to otters", tier="hot", priority="critical")
    old = shop.remember_many([{"content": f"Otter {number} swims at night", "tier": "hot"} for number in range(600)])
    inner = shop.scoped(user="ana").remember("Ana swims at night", tier="hot")
    clock.advance(minutes=1)
    shop.get(old[0].id)
    cooled = shop.bulk.cool()
    left = list(shop.find(tier="hot", limit=1000))
    assert (cooled.limit, cooled.tokens) == (200, sum(memory.tokens for memory in left))
    assert 180 < cooled.tokens <= 200
    assert len(left) + cooled.count == 601
    assert {rule.id, old[0].id, old[-1].id} <= {memory.id for memory in left}
    assert shop.scoped(user="ana").get(inner.id).tier == "hot"
    assert shop.bulk.cool().event is None
    assert cooled.event is not None
    assert len(shop.bulk.undo([cooled.event], run=True).memories) == cooled.count
    assert shop.count(tier="hot") == 601
