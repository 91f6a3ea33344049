"""Finding what answers a query, in the right order, and nothing that is hidden."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memotherm import Hit, Memotherm, Tier
from memotherm.testing import FakeClock
from tests.helpers import contents, opened


@pytest.fixture(name="mem")
def _mem(clock: FakeClock) -> Iterator[Memotherm]:
    with opened(clock=clock) as mem:
        yield mem
        assert mem.check() == []


def ids(recall: Any) -> list[str]:
    return [hit.memory.id for hit in recall]


def test_the_nearest_memory_comes_first(mem: Memotherm) -> None:
    """What shares the query's words ranks above what does not."""
    mem.remember_many([{"content": text} for text in ("bread and butter", "the red boat sails", "a boat of paper")])

    recall = mem.recall("red boat sails")

    assert recall[0].memory.content == "the red boat sails"
    assert [hit.score for hit in recall] == sorted((hit.score for hit in recall), reverse=True)
    assert recall.tiers == (Tier.HOT, Tier.WARM)
    assert recall.degraded == ()


def test_the_tiers_asked_for_are_the_tiers_searched(mem: Memotherm) -> None:
    """Hot and warm by default, cold only when asked; a single word is accepted too."""
    for tier in Tier:
        mem.remember(f"the {tier} lantern", tier=tier)

    assert set(contents(mem.recall("lantern"))) == {"the hot lantern", "the warm lantern"}
    assert contents(mem.recall("lantern", tiers="cold")) == ["the cold lantern"]
    assert contents(mem.recall("lantern", tiers=("warm",))) == ["the warm lantern"]
    assert len(mem.recall("lantern", tiers=tuple(Tier))) == 3
    assert mem.recall("lantern", tiers="cold").tiers == (Tier.COLD,)


def test_cold_memories_take_no_place_of_others(mem: Memotherm) -> None:
    """However many cold memories match, the live ones fill the answer (W10)."""
    mem.remember_many([{"content": f"lantern number {number} in the archive", "tier": "cold"} for number in range(300)])
    live = mem.remember("a lantern by the door")

    assert ids(mem.recall("lantern", limit=1)) == [live.id]


def test_kinds_and_tags_filter_inside_the_search(mem: Memotherm) -> None:
    """A filter is applied before the cut, so rare kinds and tags are found among many others."""
    mem.remember_many([{"content": f"lantern number {number}"} for number in range(300)])
    task = mem.remember("buy oil for the lantern", kind="task", tags=["shop"])
    note = mem.remember("the lantern flickers", kind="note", tags=["shop", "night"])

    assert ids(mem.recall("lantern number 5", kinds=["task"])) == [task.id]
    assert set(ids(mem.recall("lantern number 5", kinds=["task", "note"]))) == {task.id, note.id}
    assert ids(mem.recall("lantern number 5", tags=["night"])) == [note.id]
    assert set(ids(mem.recall("lantern number 5", tags=["shop", "none"]))) == {task.id, note.id}
    assert ids(mem.recall("lantern number 5", tags=["nobody"])) == []
    assert ids(mem.recall("lantern number 5", kinds=[])) == []


def test_one_kind_may_be_given_as_a_word(mem: Memotherm) -> None:
    """`kinds="task"` means that kind, as `tiers="cold"` means that tier; it is never read letter by letter."""
    task = mem.remember("buy oil for the lantern", kind="task")
    mem.remember("the lantern flickers", kind="note")

    assert ids(mem.recall("lantern", kinds="task")) == [task.id]


def test_tags_are_found_by_their_words(mem: Memotherm) -> None:
    """A tag counts as a word of the memory."""
    memory = mem.remember("Deploys are frozen until Friday", tags=["blocker"])
    mem.remember("Lunch is at noon")

    assert mem.recall("blocker")[0].memory.id == memory.id


def test_an_expired_memory_is_invisible_at_once(mem: Memotherm, clock: FakeClock) -> None:
    """Past its time a memory is in no answer and no listing, without any maintenance (D20)."""
    memory = mem.remember("the code is 4711", ttl="1h", tier="hot")
    clock.advance(minutes=59, seconds=59)
    assert ids(mem.recall("code")) == [memory.id]

    clock.advance(seconds=1)

    assert ids(mem.recall("code", tiers=tuple(Tier))) == []
    assert len(mem.find()) == 0
    assert mem.get(memory.id).content == "the code is 4711"


def test_expired_memories_take_no_place_of_others(mem: Memotherm, clock: FakeClock) -> None:
    """However many expired memories match, the others fill the answer."""
    mem.remember_many([{"content": f"lantern number {number}", "ttl": "1h", "tier": "warm"} for number in range(300)])
    live = mem.remember("a lantern by the door")
    clock.advance(hours=2)

    assert ids(mem.recall("lantern", limit=1)) == [live.id]


@pytest.mark.parametrize("verb", ["archive", "forget", "purge"])
@pytest.mark.parametrize("priority", ["normal", "pinned"])
def test_what_is_hidden_is_never_found(mem: Memotherm, verb: str, priority: str) -> None:
    """Archived, forgotten and purged memories are in no answer, pinned ones included (D19)."""
    memory = mem.remember("the lantern by the door", priority=priority)
    mem.recall("lantern")
    getattr(mem, verb)(memory.id)

    assert ids(mem.recall("lantern", tiers=tuple(Tier))) == []


def test_pinned_memories_are_beside_the_hits_and_the_limit(mem: Memotherm) -> None:
    """Pinned memories are in every answer, from any tier, apart, and leave `limit` results (D14, D15, E46)."""
    pinned = [mem.remember("never deploy on Friday", tier="cold", priority="pinned"), mem.remember("the boat is red")]
    mem.pin(pinned[1].id)
    mem.remember_many([{"content": f"boat number {number}"} for number in range(5)])

    recall = mem.recall("boat", limit=3)

    assert len(recall) == len(recall.hits) == 3
    assert recall[0] is recall.hits[0]
    assert set(ids(recall.pinned)) == {memory.id for memory in pinned}
    assert set(ids(recall)).isdisjoint(ids(recall.pinned))
    assert (ids(mem.recall("boat", limit=0)), ids(mem.recall("boat", limit=0).pinned)) == ([], ids(recall.pinned))
    assert mem.unpin(pinned[0].id).priority == "normal"
    assert pinned[0].id not in ids(mem.recall("boat", limit=3).pinned)


@pytest.mark.parametrize("fusion", ["evidence", "weighted", "rrf"])
def test_a_pinned_memory_changes_no_score_of_others(clock: FakeClock, fusion: str) -> None:
    """An unrelated cold memory that is pinned takes no part in the scaling of scores."""
    long = "The archive has a list of old lamps, ropes and boats that nobody has used for years. " * 12
    with opened(clock=clock, settings={"fusion": fusion}) as mem:
        mem.remember_many([{"content": f"the red boat {number} sails past the lamp"} for number in range(5)])
        mem.remember("bread and butter on the boat")
        unrelated = [mem.remember(text, tier="cold").id for text in (long, "boat sails red", "zinc")]

        def answer() -> tuple[list[tuple[str, float]], float]:
            recall = mem.recall("where does the red boat sail?", limit=10, track=False)
            return [(hit.memory.id, hit.score) for hit in recall if hit.memory.id not in unrelated], recall.confidence

        before = answer()
        for memory_id in unrelated:
            mem.pin(memory_id)

        assert answer() == before


def test_pinned_memories_obey_the_filters_and_the_scope(mem: Memotherm) -> None:
    """A pinned memory of another kind, tag or scope is not forced into an answer."""
    mem.remember("always be kind", priority="pinned", kind="preference")
    mem.scoped(user="ann").remember("Ann's secret", priority="pinned")

    assert ids(mem.recall("boat", kinds=["fact"]).pinned) == []
    assert contents(mem.scoped(user="bob").recall("boat").pinned) == ["always be kind"]


def test_a_boost_changes_the_ranking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Critical and important memories overtake slightly better matches, low ones fall behind (E14, E35)."""
    monkeypatch.setattr("memotherm.recall.values._USE_WEIGHT", 0)
    with opened() as mem:
        plain = mem.remember("the boat sails at dawn from the old pier")
        low = mem.remember("the boat sails at dawn from the new pier", priority="low")
        critical = mem.remember("the boat sails from some harbour", priority="critical")

        recall = mem.recall("the boat sails at dawn from the old pier")
        scores = {hit.memory.id: hit for hit in recall}

        assert scores[critical.id].why.boost == 0.3
        assert scores[low.id].why.boost == -0.1
        assert scores[plain.id].why.boost == 0
        for hit in recall:
            assert hit.score == pytest.approx(hit.why.relevance + hit.why.boost + hit.why.use)


def test_boosts_are_read_from_the_settings() -> None:
    """A boost of 5 for low memories puts them on top (E21, W15)."""
    with opened(settings={"priority_boosts": {"low": 5}}) as mem:
        mem.remember("the boat sails at dawn")
        low = mem.remember("the boat rots", priority="low")

        assert mem.recall("the boat sails at dawn")[0].memory.id == low.id


def test_a_threshold_looks_at_relevance_before_boosts(mem: Memotherm) -> None:
    """A boost never admits what the threshold keeps out (D24)."""
    mem.remember("nothing to do with it", priority="critical")
    near = mem.remember("the boat sails at dawn")

    assert ids(mem.recall("the boat sails at dawn", min_score=0.5)) == [near.id]
    for hit in mem.recall("the boat sails at dawn", min_score=0.2):
        assert hit.why.relevance >= 0.2 or (hit.why.text or 0) >= 0.2


def test_a_threshold_keeps_keyword_hits() -> None:
    """An exact keyword match survives a threshold that is meant for vectors (W34)."""
    with opened(embedder="none") as mem:
        memory = mem.remember("the ticket is called QX-4711")
        mem.remember("another ticket")

        assert ids(mem.recall("QX-4711", min_score=0.35)) == [memory.id]


def test_the_answer_for_k_begins_the_answer_for_k_plus_one(mem: Memotherm) -> None:
    """The pool does not depend on the limit, so a longer answer only adds at the end (D25)."""
    mem.remember_many([{"content": f"boat number {number} of {number % 7}"} for number in range(60)])
    whole = ids(mem.recall("boat number 3 of 5", limit=60, track=False))

    for limit in range(60):
        assert ids(mem.recall("boat number 3 of 5", limit=limit, track=False)) == whole[:limit]


def test_words_of_other_scripts_are_found() -> None:
    """Text search knows scripts without spaces, accents and mixed text (W36)."""
    with opened(embedder="none") as mem:
        for text in ("東京で会議がある", "Café am Rhein", "встреча в Москве", "회의는 서울에서"):
            mem.remember(text)

        for query, text in (
            ("東京", "東京で会議がある"),
            ("cafe", "Café am Rhein"),
            ("Москве", "встреча в Москве"),
            ("서울", "회의는 서울에서"),
        ):
            assert contents(mem.recall(query)) == [text]


def test_a_query_of_signs_finds_nothing_by_words() -> None:
    """Characters that mean something to a query language are just characters."""
    with opened(embedder="none") as mem:
        mem.remember("plain text")
        for query in ('"', "*", "a OR b NOT", "NEAR(x y)", "col:plain^2", "'; DROP TABLE memories; --", "(", "-"):
            mem.recall(query)

        assert contents(mem.recall('plain" OR "')) == ["plain text"]


def test_every_hit_explains_itself(mem: Memotherm) -> None:
    """The line names the legs and the boost that made the score."""
    mem.remember("the boat sails at dawn", priority="important")

    hit = mem.recall("boat")[0]

    assert hit.explain().startswith(f"{hit.score:.2f} = relevance")
    assert "vector" in hit.explain()
    assert "text" in hit.explain()
    assert "priority +0.15" in hit.explain()


def test_nobody_sees_what_is_not_theirs(mem: Memotherm) -> None:
    """A memory is found from its own scope and from narrower ones only."""
    for scope in ({}, {"project": "p"}, {"project": "p", "agent": "a"}, {"project": "q"}):
        mem.scoped(**scope).remember(f"the boat of {scope}")

    def seen(**scope: str) -> int:
        return len(mem.scoped(**scope).recall("boat"))

    assert seen() == 1
    assert seen(project="p") == 2
    assert seen(project="p", agent="a", session="s") == 3
    assert seen(project="q") == 2
    assert seen(agent="a") == 1


# Use and the log


def test_a_recall_counts_as_a_use(mem: Memotherm, clock: FakeClock) -> None:
    """Every memory that is returned is counted, unless the caller asks for no trace (D22)."""
    memory = mem.remember("the boat sails")
    mem.recall("boat")
    clock.advance(hours=1)
    mem.recall("boat")
    mem.recall("boat", track=False)

    assert mem.get(memory.id).access_count == 2
    assert mem.get(memory.id).accessed_at == clock.now
    assert mem.get(memory.id).version == memory.version


def logged(path: Path) -> list[dict[str, Any]]:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    rows = [dict(row) for row in connection.execute("SELECT * FROM recalls ORDER BY recall")]
    connection.close()
    return rows


@pytest.mark.plain_file
@pytest.mark.sqlite
def test_recalls_are_logged_with_what_they_returned(tmp_path: Path) -> None:
    """The log has the query, every candidate's score, what was returned and promoted, and what was degraded."""
    path = tmp_path / "agent.db"
    with opened(path) as mem:
        mem.remember("the boat sails at dawn")
        mem.remember("bread and butter at dawn")
        mem.recall("the boat sails at dawn", limit=1, promote=True)

    (row,) = logged(path)
    assert row["query"] == "the boat sails at dawn"
    assert row["tiers"] == "hot warm"
    assert json.loads(row["returned"]) == [1]
    assert json.loads(row["promoted"]) == [1]
    assert [no for no, _ in json.loads(row["candidates"])] == [1, 2]
    assert row["degraded"] == ""


@pytest.mark.plain_file
@pytest.mark.sqlite
def test_the_log_keeps_a_hash_or_nothing_where_the_setting_says_so(tmp_path: Path) -> None:
    """A hash tells equal queries without telling what was asked; off keeps no row and still counts uses."""
    for kept in ("hash", "off"):
        path = tmp_path / f"{kept}.db"
        with opened(path, settings={"recall_log": kept}) as mem:
            memory = mem.remember("my secret boat")
            mem.recall("secret boat question")
            mem.recall("secret boat question")
            assert mem.find()[0].access_count == 2
            assert mem.get(memory.id).content == memory.content
        queries = [row["query"] for row in logged(path) if row["query"]]
        assert len(queries) == (2 if kept == "hash" else 0)
        assert len(set(queries)) <= 1
        assert b"secret boat question" not in path.read_bytes()


def test_promotion_needs_relevance_or_use(mem: Memotherm) -> None:
    """A near hit moves to hot at once, another one at its third use, each with an event (D11)."""
    near = mem.remember("the boat sails at dawn")
    far = mem.remember("the boat", tier="warm")

    assert ids(mem.recall("boat sails dawn", promote=False)) == [near.id, far.id]
    recall = mem.recall("the boat sails at dawn", promote=True)

    assert near.id in recall.promoted
    assert mem.get(near.id).tier == "hot"
    assert mem.history(near.id)[-1].rule == "promote.relevance"


def test_nothing_stored_is_an_empty_answer(mem: Memotherm) -> None:
    """A question to an empty memory has no hits and nothing to complain about."""
    recall = mem.recall("anything")

    assert (len(recall), recall.degraded, recall.promoted) == (0, (), ())


@pytest.mark.sqlite
def test_a_question_in_the_first_person_is_about_what_the_user_wrote(mem: Memotherm) -> None:
    """Not about what another author wrote, and no other question is."""
    for author in ("user", "assistant"):
        mem.remember(f"the {author} has a red boat", kind="message", metadata={"speaker": author})

    assert [(hit.memory.metadata["speaker"], hit.why.author) for hit in mem.recall("where is my red boat?")] == [
        ("user", True),
        ("assistant", False),
    ]
    assert not any(hit.why.author for hit in mem.recall("where is the red boat?"))


@pytest.mark.sqlite
def test_the_words_of_a_memory_are_counted_for_its_length() -> None:
    """A text of 52 words is long, which 50 is not, and covers less beside one that is short."""
    with opened(embedder="none") as mem:
        mem.remember("otter " + " ".join(f"word{number}" for number in range(51)))
        mem.remember("the otter")
        short, long = mem.recall("otter")

    assert short.why.text == 1.0
    assert long.why.text == pytest.approx(1.25 / (1 + 0.25 * 52 / 51))


@pytest.mark.sqlite
def test_messages_are_not_versions_of_each_other(mem: Memotherm) -> None:
    """The newer of two facts in nearly the same words comes first; of two messages, the one that fits better."""
    older, newer = "the port of staging is 5433", "the port of staging is 5544, everyone"
    for kind, first in (("fact", newer), ("message", older)):
        for content in (older, newer):
            mem.remember(content, kind=kind, metadata={"of": kind})

        found = mem.recall("which port has staging?", kinds=[kind])
        assert found[0].memory.content == first


def test_an_emptied_text_index_is_said_named_and_rebuilt(mem: Memotherm) -> None:
    """On both stores: recall goes on by vectors."""
    stored = mem.remember("The ferry leaves at noon")
    names = ("texts_clear",) if mem.status().store.startswith("postgresql") else ("text_live_clear", "text_cold_clear")
    mem._services.all_tenants._write(lambda statements: [statements.run(name) for name in names])

    found = mem.recall("The ferry leaves at noon")
    assert [hit.memory.id for hit in found] == [stored.id]
    assert found[0].why.vector is not None
    assert any("text index" in reason for reason in found.degraded)
    assert {problem.code for problem in mem.check()} == {"text_missing"}

    mem.store.repair()
    assert mem.check() == []
    assert mem.recall("ferry").degraded == ()


def test_a_source_filters_what_is_searched_and_listed(open_mem: Callable[..., Memotherm]) -> None:
    """Active and archived memories, with and without a query."""
    mem = open_mem()
    mem.remember("Quarterly goals of sales", source="crm")
    goals = mem.remember("Quarterly goals of the audit", source="audit")
    for query in ("quarterly goals", ""):
        assert [hit.memory.id for hit in mem.recall(query, sources=["audit", "mail"])] == [goals.id]
    mem.archive(goals.id)
    assert [hit.memory.id for hit in mem.recall("goals", retention="any", sources=["audit"])] == [goals.id]


def test_a_recall_finds_what_has_another_name(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """In both directions and over several aliases, for what the query names."""
    mem = open_mem(tmp_path / "memory.db", embedder="none")
    named = mem.remember("张伟: Berlin, Hauptstrasse")
    mem.remember("Li Na: Berlin, Marktplatz")
    question = "What is the address of Zhang Wei?"
    assert not mem.recall(question).hits
    mem.alias("Zhang Wei", "W. Zhang")
    alias = mem.alias("W. Zhang", "张伟")

    def found(query: str) -> list[Hit]:
        return [hit for hit in mem.recall(query).hits if hit.memory.kind != "alias"]

    (hit,) = found(question)
    assert hit.memory.id == named.id
    assert len(found("What is the address of 张伟?")) == 1
    assert "Hauptstrasse" in mem.context(question).text
    assert not found("What is the address of Wei?")
    assert named.id in mem.select("everything about Zhang Wei", include_hidden=True).ids
    assert named.id in {hit.memory.id for hit in mem.recall(question, retention="any").hits}
    for names in (5, "Zhang", None):
        mem.remember(f"Zhang Wei, {names}", kind="alias", metadata={"names": names})
        assert mem.recall(question).hits
    mem.bulk.purge(kind="alias", contains="Zhang Wei,")
    mem.forget(alias.id)
    assert not found(question)


@pytest.mark.parametrize("priority", ["critical", "important", "normal", "low"])
def test_what_has_no_relevance_is_no_hit(open_mem: Callable[..., Memotherm], priority: str) -> None:
    """Whatever its priority, and with a filter that it passes; pinned memories are there, and an empty query lists."""
    mem = open_mem()
    mem.remember("the boat sails at dawn", priority=priority, tags=["harbour"])
    pinned = mem.remember("ask before deleting", priority="pinned")
    for where in ({}, {"tags": ["harbour"]}, {"kinds": ["fact"]}, {"min_score": 0}):
        nothing = mem.recall("zebra quantum flute", track=False, **where)
        assert (nothing.hits, nothing.confidence) == ((), 0)
        assert [hit.memory.id for hit in nothing.pinned] == ([] if "tags" in where else [pinned.id])
        assert len(mem.recall("", track=False, **where)) == (1 if "tags" in where else 2)
    assert [hit.memory.content for hit in mem.recall("boat", track=False)] == ["the boat sails at dawn"]


@pytest.mark.parametrize("fusion", ["evidence", "weighted", "rrf"])
@pytest.mark.parametrize("others", [0, 3, 30])
def test_a_rare_word_of_the_question_gives_relevance_however_long_it_is(
    open_mem: Callable[..., Memotherm], fusion: str, others: int
) -> None:
    """A memory that shares it is never without relevance, with vectors or without."""
    for embedder in ({}, {"embedder": "none"}):
        mem = open_mem(settings={"fusion": fusion}, **embedder)
        texts = [f"Crate number {number} with lemons stands on pier {number}" for number in range(40)]
        mem.remember_many([{"content": text} for text in texts])
        told = mem.remember("Nobody has seen the quartz since the audit")
        question = f"Tell me about {' and '.join(texts[:others])} and the quartz"
        relevance = {hit.memory.id: hit.why.relevance for hit in mem.recall(question, limit=100)}
        assert relevance.get(told.id, 0) > 0
