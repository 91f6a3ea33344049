"""The working memory of a session: add, spill, recall, promote, status, metrics (part C)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import Memotherm, Settings, Tier, tools
from memotherm.errors import InvalidInput, LimitReached, NotFound
from memotherm.model.results import Suggestion
from memotherm.testing import FakeClock
from tests.spec.ids import spec
from tests.spec.told import added, said

Open = Callable[..., Memotherm]
TURN = "turn {n}: we talk about the proposal and its many parts"


@spec("C01")
def test_a_tier_says_its_limit_and_its_size(open_mem: Open) -> None:
    """Tier, size limit and current size, in tokens and in memories."""
    session = open_mem(settings={"hot_token_limit": 500}).session("s")
    memory = session.add("hello there")

    status = session.status()

    assert status.limit == 500
    assert (status.hot.memories, status.hot.tokens) == (1, memory.tokens)
    assert (status.warm.memories, status.cold.memories) == (0, 0)


@spec("C02")
def test_a_memory_of_a_session_has_every_field_that_hosts_expect(mem: Memotherm, clock: FakeClock) -> None:
    """Each field of the source's record, by its name there; a name is only a view of ours."""
    memory = mem.session("s1").add("hello there", "message", {"speaker": "ann"})

    assert {
        "id": memory.id,
        "sessionId": memory.session_id,
        "content": memory.content,
        "type": memory.type,
        "tier": str(memory.tier),
        "accessCount": memory.access_count,
        "lastAccessedAt": memory.last_accessed_at,
        "createdAt": memory.created_at,
        "relevanceScore": memory.relevance_score,
        "metadata": memory.metadata,
    } == {
        "id": memory.id,
        "sessionId": "s1",
        "content": "hello there",
        "type": "message",
        "tier": "hot",
        "accessCount": 0,
        "lastAccessedAt": clock.now,
        "createdAt": clock.now,
        "relevanceScore": 1.0,
        "metadata": {"speaker": "ann"},
    }


@spec("C03")
@pytest.mark.parametrize("kind", ["message", "fact", "decision", "entity", "context"])
def test_the_five_types_are_kinds(mem: Memotherm, kind: str) -> None:
    """Through the session and through the tool."""
    assert mem.session("s").add(f"a {kind}", kind).kind == kind
    assert tools.memory_add(mem, "s", f"another {kind}", kind)["kind"] == kind


@spec("C04", "C23", "C30")
def test_the_status_has_the_shape_and_the_numbers_of_the_example(open_mem: Open) -> None:
    """Eight hot memories, 80 % of the limit, warm and cold apart, and a suggestion from 90 % on."""
    made = open_mem().session("s").add("word " * 49)
    limit = made.tokens * 10
    mem = open_mem(settings={"hot_token_limit": limit})
    session = mem.session("session-123")
    for n in range(8):
        session.add(f"{n}" + " word" * 49)
    for tier, count in (("warm", 3), ("cold", 5)):
        for n in range(count):
            added(session, f"{tier} memory {n}", tier=tier)
    hot = sum(memory.tokens for memory in session.hot())

    status = tools.memory_status(mem, "session-123")

    assert status["sessionId"] == "session-123"
    assert status["hot"] == {
        "items": 8,
        "tokens": hot,
        "limit": limit,
        "utilizationPercent": round(100 * hot / limit, 1),
    }
    assert round(status["hot"]["utilizationPercent"]) == 80
    assert (status["warm"]["items"], status["cold"]["items"]) == (3, 5)
    assert status["warm"]["tokens"] > 0
    assert status["cold"]["tokens"] > 0
    assert status["suggestions"] == []
    session.add("8" + " word" * 49)
    suggestions = tools.memory_status(mem, "session-123")["suggestions"]
    assert suggestions == [{"type": "spill", "reason": "hot memory is 90% full"}]


@spec("C05")
def test_a_suggestion_has_a_type_a_reason_and_ids_where_they_help() -> None:
    """Three types; ids only where there are some."""
    suggestion = Suggestion(type="recall", reason="there is room", ids=("mem_1",))

    assert (suggestion.type, suggestion.reason, suggestion.ids) == ("recall", "there is room", ("mem_1",))


@spec("C06")
def test_a_recall_tells_hits_promotions_and_relevance(mem: Memotherm) -> None:
    """In the library as values, in the tool under the source's names."""
    session = mem.session("s")
    memory = session.add("the budget is $50K")
    session.spill()

    recall = session.recall("the budget is $50K", auto_promote=False)
    by_tool = tools.memory_recall(mem, "the budget is $50K", sessionId="s")

    assert [hit.memory.id for hit in recall] == [memory.id]
    assert recall.promoted == ()
    assert by_tool["items"][0]["id"] == memory.id
    assert by_tool["promoted"] == [memory.id]
    assert by_tool["relevanceScores"] == {memory.id: 1.0}


def _columns(path: Path, table: str) -> set[str]:
    with sqlite3.connect(path) as connection:
        found = {row[1] for row in connection.execute(f"PRAGMA table_info({table})")}
    connection.close()
    return found


@pytest.mark.plain_file
@pytest.mark.sqlite
@spec("C07")
def test_the_table_keeps_everything_of_a_session_memory(tmp_path: Path, open_mem: Open) -> None:
    """All the source's columns have a place; a session's row and its memories hang on one space."""
    path = tmp_path / "m.db"
    mem = open_mem(path)
    memory = mem.session("s").add("hello there")

    assert _columns(path, "memories") >= {
        "id", "space", "content", "kind", "tier", "access_count", "accessed_at", "created_at",
        "relevance", "tokens", "metadata",
    }  # fmt: skip
    assert (memory.tier, memory.access_count, memory.relevance) == (Tier.HOT, 0, 1.0)
    assert mem.remember("not in a session").relevance == 0.5
    connection = sqlite3.connect(path)
    keys = {(row[2], row[3]) for row in connection.execute("PRAGMA foreign_key_list(memories)")}
    sessions = {(row[2], row[3]) for row in connection.execute("PRAGMA foreign_key_list(sessions)")}
    connection.close()
    assert keys == sessions == {("spaces", "space")}


@pytest.mark.plain_file
@pytest.mark.sqlite
@spec("C08")
def test_a_session_is_read_through_an_index(tmp_path: Path, open_mem: Open) -> None:
    """By tier, by last use and by relevance: none of them reads the rest of the store.

    One index on (space, retention, tier) serves all three: what is left to sort is one tier of one session.
    """
    path = tmp_path / "m.db"
    mem = open_mem(path)
    mem.session("s").add("hello there")
    connection = sqlite3.connect(path)
    for order in ("created_at DESC", "coalesce(accessed_at, created_at) DESC", "relevance"):
        plan = connection.execute(
            f"EXPLAIN QUERY PLAN SELECT * FROM memories WHERE space = 1 AND tier = 0 AND retention = 0 ORDER BY {order}"
        ).fetchall()
        assert "USING INDEX memories_by_place (space=? AND retention=? AND tier=?)" in plan[0][3]
    connection.close()


@spec("C09")
def test_what_is_added_is_hot_relevant_embedded_and_counted(mem: Memotherm) -> None:
    """Relevance 1.0, an id that begins with mem, a vector to be found by, and its tokens."""
    session = mem.session("s")

    memory = session.add("the otter pond is deep", "fact", {"turn": 1})

    assert memory.tier is Tier.HOT
    assert memory.relevance == 1.0
    assert memory.id.startswith("mem_")
    assert memory.tokens > 0
    assert memory.metadata == {"turn": 1}
    hit = session.memory.recall("otter pond")[0]
    assert hit.memory.id == memory.id
    assert hit.why.vector is not None


@spec("C10", "W29")
def test_room_is_made_before_something_comes_in(open_mem: Open) -> None:
    """The limit is really crossed here: without spilling, hot would hold several times as much."""
    session = open_mem(settings={"hot_token_limit": 60}).session("s")
    total = 0
    for n in range(20):
        total += session.add(TURN.format(n=n)).tokens
        assert session.status().hot.tokens <= 60

    assert total > 120
    assert session.status().cold.memories > 0


@spec("C11")
def test_hot_is_listed_newest_first(mem: Memotherm, clock: FakeClock) -> None:
    """By the time of making, and among equals by the order of making."""
    session = mem.session("s")
    for n in range(3):
        session.add(f"turn {n}")
        clock.advance(seconds=n)

    assert [memory.content for memory in session.hot()] == ["turn 2", "turn 1", "turn 0"]


@spec("C12")
def test_named_memories_can_be_spilled(mem: Memotherm) -> None:
    """Those and no others; what is not hot is refused."""
    session = mem.session("s")
    first, second = session.add("turn 1"), session.add("turn 2")

    spill = session.spill(ids=[first.id, first.id])

    assert spill.spilled_ids == (first.id,)
    assert [memory.id for memory in session.hot()] == [second.id]
    with pytest.raises(InvalidInput, match="only hot"):
        session.spill(ids=[first.id])


@spec("C13")
def test_four_memories_are_spilled_by_default(mem: Memotherm) -> None:
    """Another count is kept exactly; 0 means none."""
    session = mem.session("s")
    for n in range(9):
        session.add(f"turn {n}")

    assert session.spill().spilled_count == 4
    assert session.spill(count=2).spilled_count == 2
    assert session.spill(count=0).spilled_count == 0
    assert tools.call(mem, "memory_spill", {"sessionId": "s", "count": 50})["spilledCount"] == 3
    with pytest.raises(InvalidInput, match="whole number"):
        session.spill(count=-1)


@spec("C14")
def test_the_least_relevant_leave_first_then_the_oldest(mem: Memotherm) -> None:
    """A memory whose relevance a recall has lowered goes before older ones."""
    session = mem.session("s")
    old = session.add("the budget is $50K")
    lowered = session.add("the pond is deep and full of otters and other animals")
    session.add("turn 3")
    session.spill(ids=[lowered.id])
    session.recall("otters", limit=1, auto_promote=False)
    session.memory.move(lowered.id, "hot")

    assert session.memory.get(lowered.id).relevance < 1.0
    assert session.spill(count=2).spilled_ids == (lowered.id, old.id)


@spec("C15")
def test_a_spilled_memory_goes_warm_with_enough_uses_and_cold_otherwise(mem: Memotherm) -> None:
    """Three uses are enough, two are not."""
    session = mem.session("s")
    used = session.add("read three times")
    session.hot()
    rarely = session.add("read twice")
    session.hot()
    session.hot()

    moved = {move.id: str(move.to) for move in session.spill().moved}

    assert moved == {used.id: "warm", rarely.id: "cold"}


@spec("C16")
def test_a_spill_tells_count_ids_target_and_where_each_went(mem: Memotherm) -> None:
    """The target is warm, cold or mixed, and none when nothing moved."""
    session = mem.session("s")
    used, fresh = session.add("used"), session.add("fresh")
    session.memory.recall("used", limit=1)
    session.memory.recall("used", limit=1)
    session.memory.recall("used", limit=1)

    spill = tools.call(mem, "memory_spill", {"sessionId": "s"})

    assert spill["spilledCount"] == 2
    assert set(spill["spilledIds"]) == {used.id, fresh.id}
    assert spill["targetTier"] == "mixed"
    assert {(each["id"], each["from"], each["to"]) for each in spill["moved"]} == {
        (used.id, "hot", "warm"),
        (fresh.id, "hot", "cold"),
    }
    assert tools.call(mem, "memory_spill", {"sessionId": "s"})["targetTier"] is None


@spec("C17")
def test_a_session_recall_returns_three_by_default(mem: Memotherm) -> None:
    """Of ten that match, in the library and in the tool."""
    session = mem.session("s")
    for n in range(10):
        added(session, f"otter fact {n}", tier="cold")

    assert len(session.recall("otter fact", auto_promote=False)) == 3
    assert len(tools.memory_recall(mem, "otter fact", sessionId="s", autoPromote=False)["items"]) == 3
    assert len(session.recall("otter fact", limit=0)) == 0
    with pytest.raises(InvalidInput, match="limit"):
        session.recall("otter fact", limit=-1)


@spec("C18")
def test_a_session_recall_searches_its_own_warm_and_cold_memories(mem: Memotherm) -> None:
    """Neither hot ones, which are in the prompt, nor those around it."""
    mem.remember("an otter of everybody")
    session = mem.session("s")
    for tier in Tier:
        added(session, f"an otter that is {tier}", tier=tier)

    recall = session.recall("otter", auto_promote=False)

    assert set(said(recall)) == {"an otter that is warm", "an otter that is cold"}
    assert recall.tiers == (Tier.WARM, Tier.COLD)
    assert all(hit.why.vector is not None for hit in recall)


@spec("C18")
def test_hot_questions_do_not_hide_the_spilled_answer(mem: Memotherm) -> None:
    """In the library and in the tool: repeated questions about the budget are hot and closer to the query."""
    session = mem.session("s")
    spilled = session.add("We have $50K to spend on the proposal")
    session.spill()
    assert session.recall("the deadline").hint == ""
    for question in ("What was the budget?", "Tell me the budget", "So what is the budget?", "And the budget was?"):
        session.add(question)

    told = tools.memory_recall(mem, "what was the budget?", sessionId="s", autoPromote=False)

    assert [item["id"] for item in told["items"]] == [spilled.id]
    assert told["tiers"] == ["warm", "cold"]
    assert session.recall("the budget for the proposal, $50K", auto_promote=False)[0].memory.tier is Tier.COLD


@spec("C18")
def test_a_session_recall_says_that_all_memories_are_hot(mem: Memotherm) -> None:
    """It searches warm and cold; `hot` lists the others."""
    session = mem.session("s")
    session.add("the deadline is May")

    recall = session.recall("the deadline is May")

    assert (list(recall), recall.hint) == ([], "all memories of session 's' are hot; its recall searches warm and cold")


@spec("C18")
def test_a_session_recall_returns_the_pinned_memories_of_its_scope(mem: Memotherm) -> None:
    """As other recalls do: beside the limit, unmoved, and none of another session."""
    rule = mem.remember("answer in French", priority="pinned")
    other = mem.session("other").memory.remember("a rule of another session", priority="pinned")
    session = mem.session("s")
    message = session.add("the budget is $50K")
    session.spill()

    recall = session.recall("the budget is $50K", limit=1, auto_promote=False)
    told = tools.memory_recall(mem, "the budget is $50K", sessionId="s", limit=1)

    assert [hit.memory.id for hit in recall] == [message.id]
    assert [hit.memory.id for hit in recall.pinned] == [hit["id"] for hit in told["pinned"]] == [rule.id]
    assert other.id not in told["relevanceScores"]
    assert (mem.get(rule.id).tier, mem.get(rule.id).relevance) == (rule.tier, rule.relevance)


def test_memory_search_returns_pinned_memories_beside_the_hits(mem: Memotherm) -> None:
    """Without notes, whatever the least score and the number of results are."""
    rule = mem.remember("answer in French", priority="pinned")
    mem.remember("the otter pond is deep")

    results = tools.memory_search(mem, "otter pond", maxResults=1, minScore=0.35)["results"]

    assert results[0]["path"] == rule.id
    assert len(results) == 2


@spec("C19")
def test_a_recall_counts_the_use_and_averages_the_relevance(mem: Memotherm, clock: FakeClock) -> None:
    """Relevance goes half-way from what it was to what this question gave."""
    session = mem.session("s")
    memory = session.add("the pond is deep and full of otters")
    session.spill()
    clock.advance(hours=1)

    (hit,) = session.recall("otters", auto_promote=False)

    after = session.memory.get(memory.id)
    assert after.access_count == 1
    assert after.accessed_at == clock.now
    assert after.relevance == pytest.approx((1.0 + hit.why.relevance) / 2)


@spec("C20")
def test_a_hit_of_high_relevance_is_promoted_unless_that_is_off(open_mem: Open) -> None:
    """By argument or by setting; the threshold may be met exactly."""
    for settings, argument, promoted in (({}, None, True), ({}, False, False), ({"auto_promote": False}, None, False)):
        session = open_mem(settings=settings).session("s")
        memory = session.add("the budget is $50K")
        session.spill()

        recall = session.recall("the budget is $50K", auto_promote=argument)

        assert bool(recall.promoted) is promoted
        assert (session.memory.get(memory.id).tier is Tier.HOT) is promoted
    exact = open_mem(settings={"promote_threshold": 1.0}).session("s")
    exact.add("the budget is $50K")
    exact.spill()
    assert len(exact.recall("the budget is $50K").promoted) == 1


@spec("C21")
def test_a_session_recall_filters_by_types(mem: Memotherm) -> None:
    """Only the kinds that are asked for."""
    session = mem.session("s")
    for kind in ("message", "fact", "entity"):
        session.add(f"the otter {kind}", kind)
    session.spill()

    recall = session.recall("the otter", types=["fact", "entity"], auto_promote=False)

    assert {hit.memory.kind for hit in recall} == {"fact", "entity"}


@spec("C22")
def test_promoting_makes_room_first_and_ignores_unknown_ids(open_mem: Open) -> None:
    """Relevance is 1.0 then; the limit holds; a foreign or unknown id does nothing."""
    mem = open_mem(settings={"hot_token_limit": 30})
    session = mem.session("s")
    memory = added(session, "the budget is $50K", tier="cold")
    for n in range(3):
        session.add(f"turn {n} of the talk about otters")
    other = mem.session("other").add("not yours")

    assert session.promote(memory.id)
    promoted = session.memory.get(memory.id)
    assert (promoted.tier, promoted.relevance) == (Tier.HOT, 1.0)
    assert session.status().hot.tokens <= 30
    assert not session.promote(memory.id)
    assert not session.promote("mem_unknown")
    assert not session.promote(other.id)


@spec("C22", "W28")
@pytest.mark.parametrize(("query", "recalls"), [("the budget is $50K", 1), ("otters", 3)])
def test_a_memory_that_a_recall_promotes_has_full_relevance_and_is_not_spilled_next(
    mem: Memotherm, query: str, recalls: int
) -> None:
    """By similarity or by its third use: the memory that has been hot for longest is spilled before it."""
    session = mem.session("s")
    memory = added(session, "the budget is $50K, and the pond is deep and full of otters", tier="cold")
    first, second = session.add("turn 1"), session.add("turn 2")

    promoted = [session.recall(query).promoted for _ in range(recalls)]

    assert promoted == [()] * (recalls - 1) + [(memory.id,)]
    assert (session.memory.get(memory.id).tier, session.memory.get(memory.id).relevance) == (Tier.HOT, 1.0)
    assert session.spill(1).spilled_ids == (first.id,)
    assert session.spill(1).spilled_ids == (second.id,)


@spec("C22")
def test_every_promotion_sets_the_relevance(open_mem: Open, clock: FakeClock) -> None:
    """A recall outside sessions, compaction and maintenance promote as well."""
    mem = open_mem()
    recalled = mem.remember("the budget is $50K")
    blocker = mem.remember("the lock gate is stuck", tags=["blocker"])
    used = mem.remember("the otters live in the pond")

    mem.recall("the budget is $50K", promote=True)
    mem.compact()
    for _ in range(3):
        mem.recall("otters pond", limit=1)
    clock.advance(days=2)
    mem.maintain()

    assert [mem.get(each.id).relevance for each in (recalled, blocker, used)] == [1.0] * 3


@spec("C24")
def test_spilling_is_suggested_at_ninety_percent(open_mem: Open) -> None:
    """From exactly the threshold on, with the real percentage in the reason."""
    memory = open_mem().session("s").add("a turn of the talk")
    tokens = memory.tokens
    for limit, suggested in ((tokens * 10 // 9, True), (tokens * 10 // 9 + 1, False), (tokens * 2, False)):
        session = open_mem(settings={"hot_token_limit": limit}).session("s")
        session.add("a turn of the talk")
        found = [each for each in session.status().suggestions if each.type == "spill"]
        assert bool(found) is suggested
        assert all(f"{100 * tokens / limit:.0f}%" in each.reason for each in found)


@spec("C25")
def test_pruning_is_suggested_when_cold_holds_too_many(open_mem: Open) -> None:
    """More than the setting, not as many as it."""
    session = open_mem(settings={"max_cold_items": 3}).session("s")
    for n in range(3):
        added(session, f"cold {n}", tier="cold")
    assert [each.type for each in session.status().suggestions] == []

    added(session, "one too many", tier="cold")

    assert [each.type for each in session.status().suggestions] == ["prune"]


@spec("C26")
def test_recalling_is_suggested_when_there_is_room_for_what_was_spilled(mem: Memotherm) -> None:
    """It names the spilled memories that would fit, the most valuable first."""
    session = mem.session("s")
    memory = session.add("the budget is $50K")
    session.spill()

    (suggestion,) = session.status().suggestions

    assert (suggestion.type, suggestion.ids) == ("recall", (memory.id,))
    assert tools.memory_status(mem, "s")["suggestions"][0]["itemIds"] == [memory.id]


@spec("C27")
def test_the_four_tools_have_the_required_fields_and_defaults_that_hosts_expect() -> None:
    """Names as hosts know them; a session id is optional where one tool serves two purposes."""
    required = {name: tools.TOOLS[name].required for name in ("memory_add", "memory_spill")}
    recall = {each.name: each for each in tools.TOOLS["memory_recall"].parameters}

    assert required == {"memory_add": ("sessionId", "content", "type"), "memory_spill": ("sessionId",)}
    assert recall["query"].required
    assert not recall["sessionId"].required
    assert not tools.TOOLS["memory_status"].required
    assert {"limit", "autoPromote", "includeCold", "types"} <= set(recall)


def test_one_recall_tool_serves_sessions_and_everything_else(mem: Memotherm) -> None:
    """The values that took effect are in the answer."""
    mem.session("s").add("an otter")

    inside, outside = tools.memory_recall(mem, "otter", sessionId="s"), tools.memory_recall(mem, "otter")

    assert (inside["limit"], inside["tiers"], inside["autoPromote"]) == (
        3,
        ["warm", "cold"],
        True,
    )
    assert (outside["limit"], outside["tiers"], outside["autoPromote"]) == (10, ["hot", "warm"], False)


@spec("C28")
def test_every_setting_of_sessions_is_read(open_mem: Open) -> None:
    """The defaults, and that another value changes what happens."""
    defaults = Settings()
    assert (defaults.hot_token_limit, defaults.warm_access_threshold, defaults.max_cold_items) == (4000, 3, 1000)
    assert (defaults.promote_threshold, defaults.auto_spill, defaults.auto_promote) == (0.85, True, True)

    warm_at_once = open_mem(settings={"warm_access_threshold": 0}).session("s")
    warm_at_once.add("never used")
    assert warm_at_once.spill().target_tier == "warm"

    never = open_mem(settings={"promote_threshold": 1.0, "promote_access_count": 99}).session("s")
    never.add("the otter pond is deep")
    never.spill()
    assert never.recall("does anybody know an otter?").promoted == ()

    full = open_mem(settings={"auto_spill": False, "hot_token_limit": 12}).session("s")
    full.add("a turn of the talk")
    full.add("a second turn")
    with pytest.raises(LimitReached, match="auto_spill"):
        full.add("a third turn of the talk")
    assert full.status().hot.tokens <= 12


@spec("C29", "C32")
def test_the_conversation_of_the_example(open_mem: Open, clock: FakeClock) -> None:
    """Early turns spill to cold; a later question finds the budget there and brings it back."""
    session = open_mem(settings={"hot_token_limit": 70}).session("project")
    turns = ["Let us write the proposal", "The budget we discussed is $50K", "Then the schedule of the project"]
    turns += [f"Part {n} of the proposal is about the schedule" for n in range(4, 31)]
    for turn in turns:
        session.add(turn)
        clock.advance(minutes=1)
    status = session.status()
    assert status.hot.tokens <= 70
    assert status.cold.memories >= 2

    recall = session.recall("the budget we discussed earlier")

    assert "$50K" in recall[0].memory.content
    assert recall[0].memory.tier is Tier.COLD
    assert recall.promoted == (recall[0].memory.id,)
    assert "$50K" in " ".join(memory.content for memory in session.hot())
    assert session.status().hot.tokens <= 70


@spec("C31")
def test_hot_stays_within_its_limit_and_the_rest_is_cold(open_mem: Open) -> None:
    """Twenty messages into a limit that holds a few of them."""
    session = open_mem(settings={"hot_token_limit": 40}).session("session-1")
    for n in range(20):
        session.add(f"Message {n} with some content")

    status = session.status()

    assert status.hot.tokens <= status.limit
    assert status.cold.memories > 0
    assert status.hot.memories + status.warm.memories + status.cold.memories == 20


@spec("C33", "W24")
def test_a_memory_that_is_recalled_often_is_promoted_by_count(mem: Memotherm, clock: FakeClock) -> None:
    """Each recall alone is not relevant enough; the third within the window brings it back."""
    session = mem.session("s")
    memory = session.add("the pond in the park is deep and full of otters")
    session.spill()

    promotions = []
    for _ in range(3):
        promotions.append(session.recall("did anybody ever mention otters?").promoted)
        clock.advance(days=1)

    assert promotions == [(), (), (memory.id,)]
    assert session.memory.history(memory.id)[-1].rule == "promote.use"


def test_uses_long_ago_do_not_count_as_recent_ones(mem: Memotherm, clock: FakeClock) -> None:
    """After a pause as long as the window the count begins again."""
    session = mem.session("s")
    session.add("the pond in the park is deep and full of otters")
    session.spill()
    for _ in range(2):
        session.recall("did anybody ever mention otters?")
    clock.advance(days=7)

    assert session.recall("did anybody ever mention otters?").promoted == ()
    assert session.recall("did anybody ever mention otters?").promoted == ()
    assert len(session.recall("did anybody ever mention otters?").promoted) == 1


@spec("C34")
def test_the_metric_of_hot_use_is_a_percentage(open_mem: Open) -> None:
    """Of a session's own limit inside it, of the hot block outside."""
    mem = open_mem(settings={"hot_token_limit": 100, "hot_max_tokens": 50})
    session = mem.session("s")
    inside = session.add("a turn of the talk")
    outside = mem.remember("a hot fact", tier="hot")

    assert session.memory.metrics().as_dict()["memory_hot_utilization"] == pytest.approx(inside.tokens)
    assert mem.metrics().hot_utilization == pytest.approx(2 * outside.tokens)


@spec("C35", "C36", "C37")
def test_spills_recalls_and_promotions_are_counted(mem: Memotherm) -> None:
    """Operations for the first two, memories for the third."""
    session = mem.session("s")
    for n in range(3):
        session.add(f"the budget of year {n} is $50K")
    session.spill(count=2)
    session.spill(count=1)
    session.recall("the budget of year 1 is $50K", limit=1)

    found = session.memory.metrics().as_dict()

    assert found["memory_spill_count"] == 2
    assert found["memory_recall_count"] == 1
    assert found["memory_promotion_count"] == 1
    assert session.memory.metrics().moves == {"session.spill": 3, "promote.relevance": 1}


@spec("C37")
def test_every_way_into_hot_counts_as_a_promotion(mem: Memotherm) -> None:
    """An explicit move, a session's promotion, compaction, and an undo; not a memory that is stored hot."""
    mem.remember("stored hot", tier="hot")
    moved = mem.remember("moved by hand")
    mem.remember("the build is broken", tags=["blocker"])
    mem.move(moved.id, "hot")
    mem.compact()
    demoted = mem.move(moved.id, "cold")
    mem.undo(demoted.version)
    session = mem.session("s")
    message = session.add("the budget is $50K")
    session.spill()
    session.promote(message.id)

    assert mem.metrics().promotion_count == 4
    assert session.memory.metrics().as_dict()["memory_promotion_count"] == 1


@spec("C10")
def test_an_oversized_memory_says_that_it_went_to_warm_and_why(open_mem: Open) -> None:
    """The tool names the rule and warns; a memory that fits gets no warning."""
    mem = open_mem(settings={"hot_token_limit": 20})

    small = tools.memory_add(mem, "s", "a short turn", "message")
    large = tools.memory_add(mem, "s", "far too large " * 20, "message")

    assert (small["tier"], small["rule"], small["warnings"]) == ("hot", "session.add", [])
    assert (large["tier"], large["rule"]) == ("warm", "session.oversized")
    assert large["warnings"] == [
        f"stored in warm: its {large['tokens']} tokens are more than the whole hot limit of 20 (hot_token_limit)"
    ]


@spec("C38")
def test_the_latency_of_recalls_from_cold_is_measured(mem: Memotherm) -> None:
    """Recalls that did not look there do not count."""
    mem.remember("an otter", tier="cold")
    mem.recall("otter")
    assert mem.metrics().as_dict()["memory_recall_latency_ms"] == 0

    mem.recall("otter", tiers=("cold",))

    assert mem.metrics().as_dict()["memory_recall_latency_ms"] > 0
    assert mem.metrics().recall_latency_ms > 0


@spec("C39")
def test_the_hit_rate_is_the_share_of_recalls_that_found_something(mem: Memotherm) -> None:
    """One of two."""
    mem.remember("the otter pond is deep")
    mem.recall("otter pond deep")
    mem.recall("quantum chromodynamics")

    assert mem.metrics().as_dict()["memory_hit_rate"] == 0.5


@spec("C40")
def test_the_life_of_a_session_is_not_a_tier(open_mem: Open) -> None:
    """Active, archived, summarized: the memories stay visible, whatever becomes of the session."""
    mem = open_mem(settings={"compaction_on_session_end": False})
    session = mem.session("s")
    memory = session.add("hello there")
    assert session.status().state == "active"

    session.end()
    assert session.status().state == "archived"
    assert mem.session("s").status().state == "archived"
    assert session.memory.get(memory.id).tier is Tier.HOT

    session.end(summary="we said hello")
    assert session.status().state == "summarized"
    assert [found.content for found in mem.find(kind="context")] == ["we said hello"]

    session.add("hello again")
    assert session.status().state == "active"


@spec("C41", "W26")
def test_no_session_touches_the_memories_of_another(mem: Memotherm) -> None:
    """Not by search and not by id, whatever the verb."""
    mine, yours = mem.session("mine"), mem.session("yours")
    theirs = yours.add("the otter password")
    around = mem.remember("an otter of everybody", tier="hot")
    before = yours.memory.history(theirs.id)

    for memory_id in (theirs.id, around.id):
        refusals: list[Callable[[str], object]] = [
            lambda each: mine.spill(ids=[each]),
            mine.demote,
            mine.forget,
            mine.keep,
        ]
        for refused in refusals:
            with pytest.raises(NotFound):
                refused(memory_id)
        assert not mine.promote(memory_id)
    mine.clear()
    mine.prune(keep=0)

    assert list(mine.recall("otter password")) == []
    assert yours.memory.history(theirs.id) == before
    assert mem.get(around.id).tier is Tier.HOT


@spec("C42", "W25")
def test_hot_never_exceeds_its_limit_whatever_the_size(open_mem: Open) -> None:
    """Tiny and huge items, promotions, rewrites and explicit moves: afterwards it always fits."""
    session = open_mem(settings={"hot_token_limit": 50}).session("s")

    def fits() -> bool:
        return session.status().hot.tokens <= 50

    for n in range(8):
        session.add(f"tiny {n}")
        assert fits()
    large = session.add("a large one " * 14)
    assert (large.tier, fits()) == (Tier.HOT, True)
    oversized = session.add("far too large " * 60)
    assert (oversized.tier, fits()) == (Tier.WARM, True)
    assert not session.promote(oversized.id)
    refusals: list[Callable[[], object]] = [
        lambda: session.memory.move(oversized.id, "hot"),
        lambda: session.add("also far too large " * 60, tier="hot"),
        lambda: session.memory.update(large.id, content="grown " * 80),
    ]
    for refused in refusals:
        with pytest.raises(LimitReached, match="50"):
            refused()
        assert fits()


def test_what_is_pinned_in_hot_takes_its_room_from_the_others(open_mem: Open) -> None:
    """When only protected memories are left, the new one is stored warm."""
    session = open_mem(settings={"hot_token_limit": 24}).session("s")
    pinned = added(session, "a pinned rule that is quite long and fills hot", tier="hot")
    session.memory.pin(pinned.id)

    memory = session.add("twelve more words do not fit beside the long rule that is pinned here")

    assert memory.tier is Tier.WARM
    assert session.memory.history(memory.id)[0].rule == "session.full"
    assert [each.id for each in session.hot()] == [pinned.id]


@spec("C43", "W23")
def test_reading_a_hot_memory_counts_as_use_and_injecting_it_does_not(mem: Memotherm) -> None:
    """Otherwise the hot block would keep itself hot (D22); an answer that repeats it counts."""
    session = mem.session("s")
    memory = session.add("the budget is $50K")
    context = session.memory.context()
    assert session.memory.find()[0].access_count == 0
    session.hot()
    assert (session.memory.find()[0].access_count, session.memory.find()[0].use_weight) == (1, 1.0)

    assert session.memory.feedback(context, answer="You have $50K.").reflected == (memory.id,)
    assert session.memory.find()[0].access_count == 2


@spec("C44")
def test_cold_can_be_pruned_and_memories_demoted_deleted_and_cleared(mem: Memotherm) -> None:
    """Pruning takes those worth the least; everything can be restored for a while."""
    session = mem.session("s")
    useless, useful = added(session, "useless otter", tier="cold"), added(session, "useful pond", tier="cold")
    session.recall("useful pond", auto_promote=False, limit=1)
    hot = session.add("hello there")

    assert session.prune(keep=1) == [useless.id]
    assert session.demote(hot.id).tier is Tier.WARM
    assert session.demote(hot.id, "cold").tier is Tier.COLD
    with pytest.raises(InvalidInput, match="warm or cold"):
        session.demote(hot.id, "hot")
    assert session.forget(hot.id).retention == "deleted"
    assert session.clear() == 1
    assert session.memory.get(useful.id).retention == "deleted"
    assert session.memory.restore(useful.id).retention == "active"


def test_a_memory_can_outlive_its_session(mem: Memotherm) -> None:
    """It is given to the scope around it and is then seen by every session."""
    session = mem.session("s")
    memory = session.add("the user is called Ann", "fact")

    session.keep(memory.id)

    assert mem.session("another").memory.get(memory.id).scope.session is None


@spec("C09")
def test_the_same_words_twice_are_two_turns(mem: Memotherm) -> None:
    """A session adds always; only memories outside of sessions are stored once."""
    session = mem.session("s")
    first, again = session.add("yes"), session.add("yes")

    assert [memory.id for memory in session.hot()] == [again.id, first.id]


def test_the_same_summary_is_stored_once(mem: Memotherm) -> None:
    """Sessions that end with the same summary share one memory in the scope around them."""
    for name in ("s1", "s2", "s2"):
        mem.session(name).end(summary="the user prefers short answers")

    summaries = [memory for memory in mem.find() if memory.content == "the user prefers short answers"]
    assert len(summaries) == 1
    assert summaries[0].scope == mem.scope
    assert summaries[0].source == "summary"


@spec("C44")
def test_maintenance_ends_sessions_that_nobody_ended(open_mem: Open, clock: FakeClock) -> None:
    """After seven days without a change or use, and with the compaction that the end of a session runs."""
    mem = open_mem()
    mem.session("old").add("we talk about otters")
    clock.advance(days=5)
    mem.session("new").add("we talk about herons")
    clock.advance(days=3)

    ended = mem.maintain()

    assert ended.ended == 1
    assert [move.rule for move in ended.moves] == ["compact.focus"]
    assert (mem.inspect.session("old").state, mem.inspect.session("new").state) == ("archived", "active")
    mem.session("old").add("we talk again")
    assert mem.inspect.session("old").state == "active"
