"""Searching notes: hybrid, fresh, cited, honest about what is missing."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memotherm import Memotherm, Settings, Tier
from memotherm.errors import InvalidInput
from memotherm.notes.notes import Notes
from memotherm.notes.search import age_factor, diverse, shows_citations, snippet
from memotherm.testing import FakeClock, HashEmbedder
from tests.notes.ids import spec
from tests.notes.index import cited


@spec("O18", "O20", "O21")
def test_six_results_and_a_floor_of_035_by_default(notes: Notes, workspace: Path) -> None:
    """Both can be given, and both are checked."""
    for number in range(12):
        (workspace / "memory" / f"n{number}.md").write_text(f"The cheetah number {number} runs.")

    assert len(notes.search("cheetah")) == 6
    assert len(notes.search("cheetah", 3)) == 3
    assert len(notes.search("cheetah", max_results=12)) == 12
    assert notes.search("cheetah", 0).hits == ()
    assert all(max(hit.why.relevance, hit.why.text or 0) >= 0.35 for hit in notes.search("cheetah runs fast", 20))
    for wrong in ({"max_results": -1}, {"max_results": True}, {"min_score": 1.5}, {"min_score": "x"}):
        with pytest.raises(InvalidInput):
            notes.search("cheetah", **wrong)


@spec("O19")
def test_the_score_is_seven_parts_meaning_and_three_parts_words(notes: Notes, mem: Memotherm) -> None:
    """Exactly, for every hit: use, priority and versions add nothing, and words that nothing has count 0."""
    settings = mem.settings
    assert (settings.vector_weight, settings.text_weight) == (0.7, 0.3)
    for memory in mem.find(limit=5):
        mem.prioritize(memory.id, "critical")
    for query in ("database port", "walrus exhibition harbour", "deploys on Tuesday", "xylophone concerto"):
        for _ in range(3):
            for hit in notes.search(query, 20, min_score=0.0):
                parts = 0.7 * (hit.why.vector or 0) + 0.3 * (hit.why.text or 0)
                assert hit.score == pytest.approx(parts, abs=1e-9), (query, hit)
    assert notes.search("walrus exhibition harbour")[0].path == "memory/2025-11-01.md"


@spec("O19")
def test_weights_that_do_not_sum_to_one_are_normalised(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """Seven and three are as good as 0.7 and 0.3."""
    scores = [
        [hit.score for hit in open_mem(settings=given).notes(workspace).search("database port")]
        for given in ({}, {"vector_weight": 7, "text_weight": 3})
    ]

    assert scores[0] == pytest.approx(scores[1])


class Topics(HashEmbedder):
    """An embedder to which some words mean the same."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return super().embed([re.sub("(?i)automobile|motorcar", "car", text) for text in texts])


@spec("O19", "O27")
@pytest.mark.parametrize("fusion", ["evidence", "weighted", "rrf"])
def test_weights_of_zero_and_one_leave_words_or_vectors_alone(
    open_mem: Callable[..., Memotherm], tmp_path: Path, fusion: str
) -> None:
    """The same memories and notes are ordered by words, by vectors, or by both."""
    same, words = "the automobile", "the car of a neighbour was seen beside the old harbour on a Sunday morning"
    (tmp_path / "memory").mkdir()
    for name, content in (("same", same), ("words", words)):
        (tmp_path / "memory" / f"{name}.md").write_text(content, "utf-8")
    for vector, text, first in ((0, 1, "words"), (1, 0, "same")):
        settings = {"vector_weight": vector, "text_weight": text, "fusion": fusion}
        mem = open_mem(embedder=Topics(), settings=settings)
        mem.remember(same)
        mem.remember(words)

        assert mem.recall("car")[0].memory.content == (words if first == "words" else same)
        assert mem.notes(tmp_path).search("car", min_score=0)[0].path == f"memory/{first}.md"


@spec("O19")
def test_without_vectors_words_count_whatever_their_weight(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """A text weight of 0 does not hide everything while the embedder is missing."""
    mem = open_mem(embedder="none", settings={"vector_weight": 1, "text_weight": 0})

    assert mem.notes(workspace).search("walrus exhibition harbour")[0].path == "memory/2025-11-01.md"


@spec("O19")
def test_with_a_text_weight_of_zero_a_match_of_words_passes_no_threshold(open_mem: Callable[..., Memotherm]) -> None:
    """Only the relevance by vectors is compared with it."""
    for weight, hits in ((0.3, 1), (0, 0)):
        mem = open_mem(embedder=HashEmbedder(), settings={"vector_weight": 0.7, "text_weight": weight})
        mem.remember("the car of a neighbour was seen beside the old harbour on a Sunday morning by many people")

        assert len(mem.recall("car", min_score=0.5)) == hits


@spec("O22", "O25")
def test_a_citation_leads_back_to_exactly_its_lines(notes: Notes, workspace: Path) -> None:
    """`path#L10-L15`, or `#L10` for one line; `get` takes it as it is."""
    lines = [f"Sentence number {number} tells of subject {number}." for number in range(1, 101)]
    (workspace / "memory" / "long.md").write_text("\n".join(lines))
    (workspace / "memory" / "one.md").write_text("Just an axolotl.")

    assert cited(notes.search("axolotl", 1)) == ["memory/one.md#L1"]
    (hit,) = notes.search("subject 77", 1)
    found = notes.get(hit.citation)
    assert hit.citation == f"memory/long.md#L{hit.start_line}-L{hit.end_line}"
    assert found.text == "\n".join(lines[hit.start_line - 1 : hit.end_line])
    assert notes.get(hit.path, hit.start_line, hit.end_line - hit.start_line + 1).text == found.text


@spec("O23")
def test_citations_are_shown_in_direct_chats_and_hidden_in_groups(notes: Notes) -> None:
    """By `auto`; the structured data has them either way."""
    direct, group = notes.search("glaciers", chat="direct"), notes.search("glaciers", chat="group")

    assert "Source: memory/projects/atlas.md#L1-L3" in direct.text()
    assert "Source" not in group.text()
    assert cited(direct) == cited(group)
    assert shows_citations("auto", None)
    assert not shows_citations("auto", "Channel")
    assert shows_citations("on", "group")
    assert not shows_citations("off", "direct")


@spec("O16", "W35")
def test_a_search_sees_every_byte_written_before_it(notes: Notes, workspace: Path) -> None:
    """Edits, new files, deletions, again and again, without a sync in between."""
    file = workspace / "memory" / "live.md"
    for number in range(15):
        file.write_text(f"The current codeword is kiwi{number}.")
        (hit,) = notes.search(f"kiwi{number}", 1)
        assert hit.snippet == f"The current codeword is kiwi{number}."
    file.unlink()

    assert all(hit.path != "memory/live.md" for hit in notes.search("codeword kiwi14"))


@spec("O16")
def test_a_recall_sees_the_notes_of_the_configured_folder(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """Without a sync in between, from a session as well, once per folder; with the setting off it does not."""
    mem = open_mem(settings={"notes_root": str(workspace)})
    off = open_mem(settings={"notes_root": str(workspace), "sync_on_search": False})
    (workspace / "memory" / "live.md").write_text("The codeword is kiwi.")

    assert [hit.memory.content for hit in off.recall("codeword kiwi")] == []
    in_session = mem.scoped(session="s").recall("codeword kiwi", 1)
    assert [hit.memory.content for hit in in_session] == ["The codeword is kiwi."]
    (workspace / "memory" / "live.md").write_text("The codeword is mango.")
    assert [hit.memory.content for hit in mem.recall("codeword mango", 1)] == ["The codeword is mango."]
    assert {hit.memory.scope.session for hit in mem.recall("codeword")} == {None}
    assert mem.scoped(session="t").recall("codeword mango", 1)[0].memory.id == mem.recall("mango", 1)[0].memory.id


@spec("O15", "O16")
def test_contexts_see_the_notes_of_the_configured_folder(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """In a fresh store and after an edit: at the start of a session, in a turn, with and without a query."""
    settings = {"notes_root": str(tmp_path), "sync_on_session_start": False}
    note = tmp_path / "MEMORY.md"
    note.write_text("- The codeword is kiwi.\n")
    assert "kiwi" in open_mem(settings=settings).session("s").session_start().text
    mem = open_mem(settings=settings)
    assert "kiwi" in mem.context().text

    note.write_text("- The codeword is mango.\n")
    assert "mango" in mem.context("codeword").text
    note.write_text("- The codeword is papaya.\n")
    assert "papaya" in mem.session("s").before_turn("What is the codeword?").text

    note.unlink()
    tmp_path.rename(tmp_path.with_name("gone"))
    assert "is not a folder" in mem.context().degraded[0]


@spec("O16")
def test_a_recall_of_a_tenant_leaves_the_notes_of_the_operator_alone(
    open_mem: Callable[..., Memotherm], workspace: Path
) -> None:
    """It finds what is indexed for everyone, and indexes nothing itself."""
    mem = open_mem(settings={"notes_root": str(workspace)})
    tenant = mem.scoped(tenant="t")
    assert list(tenant.recall("glaciers")) == []

    mem.recall("glaciers")
    (workspace / "memory" / "live.md").write_text("The codeword is kiwi.")

    assert "glaciers" in tenant.recall("glaciers", 1)[0].memory.content
    assert all("kiwi" not in hit.memory.content for hit in tenant.recall("codeword kiwi"))
    assert {memory.scope.tenant for memory in tenant.find()} == {None}


@spec("O16")
def test_a_recall_without_the_folder_of_its_notes_says_so(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """And answers from what is stored."""
    mem = open_mem(settings={"notes_root": str(tmp_path / "missing")})
    memory = mem.remember("The otter pond")

    recall = mem.recall("otter pond")

    assert [hit.memory.id for hit in recall] == [memory.id]
    assert "is not a folder" in recall.degraded[0]


@spec("O44")
def test_a_stale_index_is_flagged(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """With syncing on search turned off, the answer says how much it may miss."""
    notes = open_mem(settings={"sync_on_search": False}).notes(workspace)
    notes.sync()
    assert not notes.search("glaciers").stale
    (workspace / "memory" / "new.md").write_text("A newt.")
    (workspace / "memory" / "2025-11-01.md").unlink()
    found = notes.search("newt")

    assert found.stale
    assert found.degraded[0] == "2 notes have changed since the last sync: run sync"
    assert notes.stale() == ["memory/2025-11-01.md", "memory/new.md"]


@spec("O35", "W33")
def test_a_better_match_of_words_has_a_higher_score(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """BM25 is negative in FTS5; mapped rightly, it is between 0 and 1 and tells matches apart."""
    for number, text in enumerate(("lynx", "lynx forest", "forest of many other words")):
        (workspace / "memory" / f"{number}.md").write_text(text)
    found = open_mem(embedder="none").notes(workspace).search("lynx forest", min_score=0)
    strengths = {hit.snippet: hit.why.text or 0.0 for hit in found}

    assert all(0 < strength <= 1 for strength in strengths.values())
    assert strengths["lynx forest"] > strengths["lynx"]
    assert strengths["lynx forest"] > strengths["forest of many other words"]
    assert found[0].snippet == "lynx forest"


@spec("O36", "W34")
def test_a_match_of_words_alone_survives_the_floor(notes: Notes, workspace: Path) -> None:
    """An exact identifier is found although its meaning is nothing, and fills a spare place."""
    body = " ".join(f"filler{number}" for number in range(120))
    (workspace / "memory" / "ticket.md").write_text(f"{body} ERR_QX_4711 {body}")
    (hit,) = notes.search("ERR_QX_4711", 1)

    assert hit.path == "memory/ticket.md"
    assert "ERR_QX_4711" in hit.snippet
    assert hit.why.relevance < 0.35 or hit.why.text == 1.0


@spec("O50")
def test_a_nonsense_query_returns_nothing(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """With the model that comes with the package, and so does an empty one; a sensible one finds its lines."""
    notes = open_mem(embedder="local").notes(workspace)

    assert notes.search("qwzx vbnmp ghjkt").hits == ()
    assert notes.search("purple monkey dishwasher tango").hits == ()
    assert notes.search("In which unit should I tell the temperature?")[0].path == "MEMORY.md"
    assert notes.search("").hits == ()
    assert notes.search("   ").hits == ()


@spec("O46", "W36")
@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("会議は毎週金曜日に東京で開かれます。", "東京"),
        ("サーバーのパスワードを変更した", "パスワード"),
        ("회의는 금요일에 서울에서 열린다", "서울"),
        ("Встреча состоится в пятницу в Москве", "Москве"),
        ("Η συνάντηση είναι στην Αθήνα", "Αθήνα"),
        ("ประชุมที่กรุงเทพ", "กรุงเทพ"),
        ("اجتماع في القاهرة", "القاهرة"),
        ("Das Café liegt in Köln", "cafe koln"),
    ],
)
def test_every_script_is_found(open_mem: Callable[..., Memotherm], workspace: Path, text: str, query: str) -> None:
    """By words alone, so that the text index has to know them; terms are not joined by AND."""
    (workspace / "memory" / "foreign.md").write_text(text)
    notes = open_mem(embedder="none").notes(workspace)

    assert [hit.snippet for hit in notes.search(f"{query} zzz", 1)] == [text]


def test_a_snippet_is_short_and_shows_what_was_asked(notes: Notes, workspace: Path) -> None:
    """At most 700 characters, whole lines around the match, or the part of a line around it."""
    lines = [f"Some filling line number {number} about nothing." for number in range(30)]
    lines[20] = "The treasure lies under the old oak."
    (workspace / "memory" / "map.md").write_text("\n".join(lines))
    (workspace / "memory" / "line.md").write_text("padding " * 150 + "the gryphon sleeps " + "padding " * 80)

    (hit,) = notes.search("treasure oak", 1)
    assert "The treasure lies under the old oak." in hit.snippet
    assert len(hit.snippet) <= 700
    assert notes.get(hit.citation).text == hit.snippet.removeprefix("…\n").removesuffix("\n…")
    (hit,) = notes.search("gryphon", 1)
    assert "gryphon" in hit.snippet
    assert len(hit.snippet) <= 700


def test_snippets_never_exceed_their_limit() -> None:
    """For any shape of text."""
    for text in ("a" * 5000, "\n".join(["b" * 80] * 100), "word " * 900, "\n" * 900 + "x"):
        assert 0 < len(snippet(text, "word x")[0]) <= 700
    assert snippet("short", "x") == ("short", 0, 0)


def test_searching_honours_tiers(notes: Notes) -> None:
    """Notes are searched on request, so by default in all tiers; a tier set narrows that."""
    assert cited(notes.search("walrus")) == ["memory/2025-11-01.md#L1-L3"]
    assert notes.search("walrus", tiers=("hot", "warm")).hits == ()
    assert notes.search("walrus", tiers="cold")[0].tier is Tier.COLD
    assert notes.search("walrus", tiers=["cold"]).tiers == (Tier.COLD,)
    with pytest.raises(InvalidInput, match="unknown tier"):
        notes.search("walrus", tiers="lukewarm")


@spec("O41")
def test_age_lowers_dated_notes_and_no_others(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """Half after thirty days; topics and the curated note are exempt, and so is what is yet to come."""
    for name in ("2026-01-05", "2025-12-06", "topic"):
        (workspace / "memory" / f"{name}.md").write_text("the otter protocol")
    notes = open_mem().notes(workspace)
    plain = {hit.path: hit.score for hit in notes.search("otter protocol", 9)}
    weighed = {hit.path: hit.score for hit in notes.search("otter protocol", 9, decay=True)}

    assert weighed["memory/topic.md"] == pytest.approx(plain["memory/topic.md"])
    assert weighed["memory/2026-01-05.md"] == pytest.approx(plain["memory/2026-01-05.md"], abs=0.05)
    assert weighed["memory/2025-12-06.md"] == pytest.approx(plain["memory/2025-12-06.md"] / 2, abs=0.05)
    from datetime import date

    assert age_factor("memory/2026-02-01.md", date(2026, 1, 1), 30) == 1.0
    assert age_factor("MEMORY.md", date(2026, 1, 1), 30) == 1.0


@spec("O41")
def test_diversity_makes_room_for_something_else(notes: Notes, workspace: Path) -> None:
    """With lambda 0.7, a near copy goes behind a result that says something new."""
    for number in range(4):
        (workspace / "memory" / f"copy{number}.md").write_text(f"The falcon launch slipped to March. Copy {number}.")
    (workspace / "memory" / "other.md").write_text("The falcon crew eats breakfast at a launch site in Kourou.")
    plain = [hit.path for hit in notes.search("falcon launch", 3, diversity=False)]
    mixed = [hit.path for hit in notes.search("falcon launch", 3, diversity=True)]

    assert "memory/other.md" not in plain[:2]
    assert "memory/other.md" in mixed[:3]
    scored = [(0.9, "a b c"), (0.89, "a b c"), (0.6, "x y z")]
    assert diverse(scored, 2, 0.7) == [0, 2]
    assert diverse(scored, 3, 1.0) == [0, 1, 2]


def test_results_for_k_begin_the_results_for_more(notes: Notes, workspace: Path) -> None:
    """The pool does not depend on how many are wanted."""
    for number in range(10):
        (workspace / "memory" / f"{number}.md").write_text(f"heron {number} stands in water of depth {number}")
    longest = cited(notes.search("heron water", 10, 0.0))

    assert all(cited(notes.search("heron water", count, 0.0)) == longest[:count] for count in range(10))


def test_a_search_counts_as_use_unless_it_is_not_tracked(mem: Memotherm, notes: Notes) -> None:
    """As with any recall, and with the first `get`."""
    (hit,) = notes.search("glaciers", 1, track=False)
    assert mem.get(hit.memory_id).access_count == 0
    notes.search("glaciers", 1)
    assert mem.get(hit.memory_id).access_count == 2
    assert mem.metrics().recall_count >= 1


@spec("O27")
def test_settings_have_the_defaults_of_the_source() -> None:
    """Chunks of 400 tokens, a watcher, weights 0.7 and 0.3, no transcripts."""
    settings = Settings()

    assert settings.chunk_tokens == 400
    assert settings.watch_notes
    assert (settings.vector_weight, settings.text_weight) == (0.7, 0.3)
    assert not settings.experimental_session_memory
    assert (settings.sync_on_session_start, settings.sync_on_search) == (True, True)
    assert settings.watch_debounce_ms == 1500
    assert settings.silent_token == "NO_REPLY"


@spec("O47")
def test_what_was_saved_is_recalled_again_after_context_compaction(mem: Memotherm, notes: Notes) -> None:
    """A host that has summarised its conversation is given the same memories once more."""
    notes.append("The rollout is paused because of the kangaroo incident.")
    notes.sync()
    session = mem.session("s1")
    texts = [session.before_turn("what of the kangaroo incident").text for _ in range(2)]
    session.context_compacted()
    texts.append(session.before_turn("what of the kangaroo incident").text)

    assert ["kangaroo" in text for text in texts] == [True, False, True]


@spec("O49")
def test_the_same_notes_give_the_same_prefix(mem: Memotherm, notes: Notes, clock: FakeClock) -> None:
    """The hot part of a context comes first and does not change with the question or the time of day."""
    notes.sync()
    texts = []
    for query in ("metric units", "glaciers"):
        texts.append(mem.context(query, budget=600).text)
        clock.advance(hours=1)
    shared = texts[0][: texts[0].index("Deploys happen on Tuesday")]

    assert texts[1].startswith(shared)


def test_notes_and_sessions_can_be_awaited(workspace: Path) -> None:
    """The same verbs for asyncio."""
    import asyncio

    import memotherm
    from memotherm.testing import HashEmbedder

    async def main() -> list[str]:
        async with memotherm.aopen(":memory:", embedder=HashEmbedder()) as mem:
            notes = mem.notes(workspace)
            await notes.sync()
            session = await mem.session("s1")
            assert await session.flush_due(180_000, root=workspace) is not None
            return cited(await notes.search("glaciers", 1))

    assert asyncio.run(main()) == ["memory/projects/atlas.md#L1-L3"]
