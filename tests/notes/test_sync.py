"""The index follows the files: found, added, edited, renamed, deleted; nothing else is done."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from unittest.mock import patch

import pytest

from memotherm import Memotherm, Retention, Scope, Tier
from memotherm.errors import InvalidInput, NoteUnavailable
from memotherm.notes import placement
from memotherm.notes.files import FileContent, read_file
from memotherm.notes.notes import Notes
from memotherm.testing import FakeClock, HashEmbedder
from tests.helpers import Flaky
from tests.notes.ids import spec
from tests.notes.index import cited, index

EVERYWHERE = ("hot", "warm", "cold")


@spec("O11", "O08", "O09")
def test_memory_md_and_the_memory_folder_are_found(notes: Notes, workspace: Path) -> None:
    """Nested folders too; other files of the workspace are none of ours."""
    (workspace / "README.md").write_text("not a note")
    (workspace / "memory" / "picture.png").write_bytes(b"\x89PNG")
    done = notes.sync()

    assert notes.paths() == ["MEMORY.md", "memory/2025-11-01.md", "memory/2026-01-04.md", "memory/projects/atlas.md"]
    assert set(done.added) == set(notes.paths())
    assert str(notes.sync()) == "4 unchanged"


@spec("O42")
def test_extra_paths_are_notes_too(mem: Memotherm, workspace: Path) -> None:
    """Files and folders inside the root, by argument or by setting; outside it they are refused."""
    (workspace / "docs").mkdir()
    (workspace / "docs" / "plan.md").write_text("The plan is a zeppelin.")
    (workspace / "USER.md").write_text("The user is called Ada.")
    notes = mem.notes(workspace, ["docs", "USER.md"])

    assert cited(notes.search("zeppelin")) == ["docs/plan.md#L1"]
    assert cited(notes.search("Ada")) == ["USER.md#L1"]
    with pytest.raises(InvalidInput, match="lies outside"):
        mem.notes(workspace, ["../elsewhere"])


def test_a_folder_called_memory_is_a_memory_folder(mem: Memotherm, tmp_path: Path) -> None:
    """As Claude Code and Codex keep theirs."""
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text("- [one](one.md)")
    (folder / "one.md").write_text("an aardvark")
    notes = mem.notes(folder)

    assert cited(notes.search("aardvark")) == ["one.md#L1"]
    assert notes.append("today").path == "2026-01-05.md"


@spec("O33")
def test_symbolic_links_and_hidden_files_are_left_alone(notes: Notes, workspace: Path, tmp_path: Path) -> None:
    """A link to a secret is not followed, as a file, as a folder, or as the folder of notes itself."""
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key.md").write_text("the secret passphrase is xylophone")
    (workspace / "memory" / "link.md").symlink_to(secret / "key.md")
    (workspace / "memory" / "linked").symlink_to(secret)
    (workspace / "memory" / ".hidden.md").write_text("hidden xylophone")
    (workspace / "memory" / ".git").mkdir()
    (workspace / "memory" / ".git" / "x.md").write_text("git xylophone")
    done = notes.sync()

    assert [each.path for each in done.skipped] == ["memory/link.md", "memory/linked"]
    assert all("xylophone" not in hit.snippet for hit in notes.search("xylophone", 20, 0.0))
    for path in ("memory/link.md", "memory/linked/key.md"):
        with pytest.raises(InvalidInput, match="symbolic link"):
            notes.get(path)


@spec("O33")
def test_a_folder_of_notes_that_is_a_link_is_not_followed(mem: Memotherm, tmp_path: Path) -> None:
    """Even when the link is `memory` itself."""
    root, outside = tmp_path / "root", tmp_path / "outside"
    root.mkdir()
    outside.mkdir()
    (outside / "a.md").write_text("outside")
    (root / "memory").symlink_to(outside)
    notes = mem.notes(root)

    assert notes.sync().added == ()
    with pytest.raises(InvalidInput, match="symbolic link"):
        notes.append("must not go outside")
    assert list(outside.iterdir()) == [outside / "a.md"]


@spec("O14", "O10")
def test_chunks_are_memories_that_an_ordinary_recall_finds(mem: Memotherm, notes: Notes) -> None:
    """In one store, by words and by meaning, with their place in the metadata, and only from their scope."""
    notes.sync()
    hit = mem.recall("which units does the user prefer")[0]

    assert hit.memory.kind == "note"
    assert hit.memory.source == "file:MEMORY.md"
    assert hit.memory.metadata == {"path": "MEMORY.md", "start": 1, "end": 4, "heading": ""}
    assert hit.why.text is not None
    assert hit.why.vector is not None


@spec("O10")
def test_each_agent_has_its_own_index(mem: Memotherm, tmp_path: Path) -> None:
    """Two agents with notes of the same name in one store do not see each other's."""
    for agent in ("ada", "bob"):
        folder = tmp_path / agent
        folder.mkdir()
        (folder / "MEMORY.md").write_text(f"The password of {agent} is hippopotamus")
        mem.scoped(agent=agent).notes(folder).sync()

    assert len(mem.scoped(agent="ada").recall("hippopotamus")) == 1
    assert "ada" in mem.scoped(agent="ada").recall("hippopotamus")[0].memory.content
    assert len(mem.recall("hippopotamus")) == 0


def test_two_roots_of_one_scope_are_searched_apart(mem: Memotherm, tmp_path: Path) -> None:
    """A search in notes stays in its folder; a recall sees both."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "MEMORY.md").write_text(f"the {name} about pelicans")
    one, two = mem.notes(tmp_path / "one"), mem.notes(tmp_path / "two")
    one.sync()

    assert [hit.snippet for hit in one.search("pelicans")] == ["the one about pelicans"]
    assert [hit.snippet for hit in two.search("pelicans")] == ["the two about pelicans"]
    assert len(mem.recall("pelicans")) == 2


@spec("O37")
def test_only_what_is_new_is_embedded(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """An edit costs its chunk, a line that moved costs nothing, a renamed or copied file costs nothing."""
    words = HashEmbedder(record=True)
    mem = open_mem(embedder=words)
    file = workspace / "memory" / "long.md"
    sections = [f"# Part {number}\n\n" + " ".join(f"w{number}x{each}" for each in range(70)) for number in range(6)]
    file.write_text("\n\n".join(sections) + "\n")
    notes = mem.notes(workspace)
    first = notes.sync()
    words.texts.clear()

    sections[3] += " edited"
    file.write_text("\n\n".join(sections) + "\n")
    edited = notes.sync()
    assert [text for text in words.texts if "w3x0" not in text] == []
    assert (edited.chunks_new, edited.chunks_kept) == (1, 5)

    words.texts.clear()
    file.write_text("\n\n" + "\n\n".join(sections) + "\n")
    assert notes.sync().chunks_kept == 6
    file.rename(workspace / "memory" / "renamed.md")
    assert notes.sync().renamed == (("memory/long.md", "memory/renamed.md"),)
    (workspace / "memory" / "copy.md").write_text((workspace / "memory" / "renamed.md").read_text())
    assert notes.sync().chunks_new == 6
    assert words.texts == []
    assert first.chunks_new == 10


def test_a_renamed_note_keeps_its_memories(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """Their ids, and what people decided about them."""
    notes.sync()
    (hit,) = notes.search("glaciers", max_results=1)
    mem.prioritize(hit.memory_id, "important")
    (workspace / "memory" / "projects" / "atlas.md").rename(workspace / "memory" / "maps.md")
    (again,) = notes.search("glaciers", max_results=1)

    assert again.memory_id == hit.memory_id
    assert again.citation == "memory/maps.md#L1-L3"
    assert str(mem.get(hit.memory_id).priority) == "important"
    assert mem.get(hit.memory_id).source == "file:memory/maps.md"


def test_an_edited_chunk_keeps_what_people_decided_about_it(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """The new memory supersedes the old one and inherits its priority and its explicit tier."""
    notes.sync()
    (before,) = notes.search("glaciers", max_results=1)
    mem.pin(before.memory_id)
    mem.move(before.memory_id, "cold")
    file = workspace / "memory" / "projects" / "atlas.md"
    file.write_text(file.read_text().replace("glaciers", "glaciers and fjords"))
    (after,) = notes.search("fjords", max_results=1)
    memory = mem.get(after.memory_id)

    assert memory.supersedes == before.memory_id
    assert (str(memory.priority), str(memory.tier), memory.tier_rule) == ("pinned", "cold", "explicit")
    assert [event.action for event in mem.history(before.memory_id)][-1] == "purge"


@pytest.mark.plain_file
@spec("O45")
def test_a_deleted_file_vanishes_from_every_table(notes: Notes, workspace: Path, tmp_path: Path) -> None:
    """Rows, words, vectors, the list of files, and everything the ledger quoted."""
    import sqlite3

    notes.sync()
    (workspace / "memory" / "2025-11-01.md").unlink()
    (workspace / "memory" / "projects" / "atlas.md").write_text("# Atlas\n\nRewritten.\n")
    done = notes.sync()

    assert done.removed == ("memory/2025-11-01.md",)
    with sqlite3.connect(tmp_path / "memory.db") as db:
        dump = "\n".join(line for line in db.iterdump() if "walrus" in line or "glacier" in line)
    db.close()
    assert dump == ""
    assert notes.search("walrus exhibition").hits == ()


def test_text_taken_out_of_a_note_is_not_kept_by_the_ledger(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """The event stays, what it quoted goes."""
    notes.sync()
    (hit,) = notes.search("walrus", max_results=1)
    (workspace / "memory" / "2025-11-01.md").write_text("# Autumn\n")
    notes.sync()

    assert mem.find(retention=Retention.PURGED).memories[0].content == ""
    assert "walrus" not in str(mem.history(hit.memory_id))


def test_a_note_that_a_person_forgot_stays_forgotten(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """As long as the file says it in the same words; a purge holds as well."""
    notes.sync()
    for verb, query in ((mem.forget, "glaciers"), (mem.purge, "walrus")):
        (hit,) = notes.search(query, max_results=1)
        verb(hit.memory_id)
    for file in (workspace / "memory").rglob("*.md"):
        file.write_text("\n" + file.read_text())
    notes.sync()

    assert notes.search("glaciers").hits == ()
    assert notes.search("walrus").hits == ()
    assert len(notes.search("database port")) == 1


def test_the_words_of_a_note_are_changed_in_its_file(mem: Memotherm, notes: Notes) -> None:
    """Files are the truth: an update of the copy is refused and says where to edit."""
    notes.sync()
    (hit,) = notes.search("glaciers", max_results=1)

    with pytest.raises(InvalidInput, match=r"part of memory/projects/atlas\.md: edit the file"):
        mem.update(hit.memory_id, content="something else")
    assert mem.update(hit.memory_id, tags=["maps"]).tags == ("maps",)


@spec("O38")
def test_another_chunk_size_cuts_every_file_anew(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """All files change over in one transaction; until then the old index serves, also after an interruption."""
    root = tmp_path / "w"
    (root / "memory").mkdir(parents=True)
    for number in range(5):
        lines = [f"Line {each} of note {number} speaks about topic {each % 7}." for each in range(80)]
        (root / "memory" / f"{number}.md").write_text("\n".join(lines))
    path = tmp_path / "a.db"
    open_mem(path).notes(root).sync()
    mem = open_mem(path, settings={"chunk_tokens": 100})
    notes = mem.notes(root)
    before = index(mem, notes)

    def interrupted(done: int, total: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        notes.sync(interrupted)
    assert index(mem, notes) == before
    done = notes.sync()
    fresh = open_mem(tmp_path / "b.db", settings={"chunk_tokens": 100})
    fresh.notes(root).sync()

    assert len(done.changed) == 5
    assert index(mem, notes) == index(fresh, fresh.notes(root))


@spec("O38", "O13")
def test_another_embedder_serves_when_all_its_vectors_are_there(
    open_mem: Callable[..., Memotherm], workspace: Path, tmp_path: Path
) -> None:
    """Until then the old vectors serve the old embedder, and the new one searches words and says so."""
    path = tmp_path / "a.db"
    old = open_mem(path, embedder=HashEmbedder(name="first"))
    old.notes(workspace).sync()
    new = open_mem(path, embedder=HashEmbedder(name="second"))
    (workspace / "memory" / "new.md").write_text("A newcomer among notes: the capybara.")
    results = new.notes(workspace).search("capybara")

    assert cited(results) == ["memory/new.md#L1"]
    assert any("run reembed" in reason for reason in results.degraded)
    assert new.store.reembed() == 5
    again = new.notes(workspace).search("capybara")
    assert again.degraded == ()
    assert again[0].why.vector is not None


@spec("O13")
def test_the_embedders_of_the_source_are_there() -> None:
    """OpenAI's and Gemini's models by their names, and a local one."""
    from memotherm import embed

    keys = {"openai": "k", "gemini": "k"}
    names = [embed.resolve(name, keys=keys).name for name in ("openai", "gemini", "local")]

    assert "text-embedding-3-small" in names[0]
    assert "gemini-embedding-001" in names[1]
    assert names[2]


@spec("O39")
def test_a_fallback_embedder_stands_in_for_one_that_fails(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """What is synced while the service is down is found by its meaning, and the answer names who stood in."""
    mem = open_mem(embedder=Flaky(down=True), settings={"fallback_embedder": "local"})
    notes = mem.notes(workspace)
    done = notes.sync()
    found = notes.search("mapping ice sheets", min_score=0.1)

    assert any("down" in reason for reason in done.degraded)
    assert cited(found)[0] == "memory/projects/atlas.md#L1-L3"
    assert found[0].why.vector is not None
    assert any("the fallback" in reason for reason in found.degraded)


@spec("O40")
def test_an_embedder_that_fails_leaves_words_and_says_so(open_mem: Callable[..., Memotherm], workspace: Path) -> None:
    """The notes are indexed and found by their words; vectors come when the service is back."""
    service = Flaky(down=True)
    mem = open_mem(embedder=service)
    notes = mem.notes(workspace)
    done = notes.sync()
    down = notes.search("glaciers")

    assert len(done.added) == 4
    assert any("down" in reason for reason in done.degraded)
    assert cited(down) == ["memory/projects/atlas.md#L1-L3"]
    service.down = False
    mem.remember("anything")
    mem.maintain()
    mem.store.reembed()
    back = notes.search("glaciers")
    assert back.degraded == ()
    assert back[0].why.vector is not None


@spec("O40")
def test_without_an_embedder_words_are_searched_and_the_result_says_so(
    open_mem: Callable[..., Memotherm], workspace: Path
) -> None:
    """`embedder="none"` is a choice, and the answer tells that meaning was not looked at."""
    found = open_mem(embedder="none").notes(workspace).search("glaciers")

    assert cited(found) == ["memory/projects/atlas.md#L1-L3"]
    assert any("text only" in reason for reason in found.degraded)


def test_the_tier_of_a_note_follows_from_what_it_is(mem: Memotherm, notes: Notes) -> None:
    """The curated one is hot, a recent day warm, an old day cold, a topic warm; each with its rule."""
    notes.sync()
    found = {memory.metadata["path"]: (str(memory.tier), memory.tier_rule) for memory in mem.find(limit=100)}

    assert found == {
        "MEMORY.md": ("hot", "note.curated"),
        "memory/2026-01-04.md": ("warm", "note.recent"),
        "memory/2025-11-01.md": ("cold", "note.old"),
        "memory/projects/atlas.md": ("warm", "note.topic"),
    }


def test_a_day_grows_old_with_an_event(mem: Memotherm, notes: Notes, clock: FakeClock) -> None:
    """On its thirtieth day it goes cold, by a rule that the ledger names; what a person moved stays."""
    notes.sync()
    (hit,) = notes.search("database port", max_results=1)
    clock.advance(days=28)
    assert notes.sync().moves == ()
    clock.advance(days=1)
    (move,) = notes.sync().moves

    assert (move.id, str(move.from_tier), str(move.to), move.rule) == (hit.memory_id, "warm", "cold", "note.old")
    event = mem.history(hit.memory_id)[-1]
    assert (event.action, event.rule) == ("move", "note.old")
    assert mem.recall("database port", tiers=("hot", "warm"), min_score=0.3).hits == ()
    mem.move(hit.memory_id, "warm")
    assert notes.sync().moves == ()


def test_the_curated_note_is_hot_as_far_as_its_share_reaches(
    mem: Memotherm, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest of a file that has grown is warm and still found; compaction leaves both where they are."""
    sections = [f"# Part {number}\n\n" + " ".join(f"c{number}x{each}" for each in range(60)) for number in range(8)]
    (workspace / "MEMORY.md").write_text("\n\n".join(sections))
    monkeypatch.setattr(placement, "HOT_TOKENS", 600)
    mem.notes(workspace).sync()
    chunks = [each for each in mem.find(limit=100) if each.metadata["path"] == "MEMORY.md"]
    hot = [each for each in chunks if each.tier is Tier.HOT]

    assert 0 < sum(each.tokens for each in hot) <= 600
    assert {each.tier_rule for each in chunks if each.tier is not Tier.HOT} == {"note.overflow"}
    assert mem.compact().moves == ()


def test_disuse_and_retention_windows_leave_notes_alone(
    open_mem: Callable[..., Memotherm], workspace: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lives in a file is neither cooled nor archived for not being asked for."""
    monkeypatch.setattr("memotherm.notes.placement._COLD_DAYS", 1000)
    mem = open_mem(settings={"retention": "10/0/7", "cool_hot_days": 5})
    notes = mem.notes(workspace)
    notes.sync()
    before = index(mem, notes)
    clock.advance(days=400)
    mem.maintain()

    assert index(mem, notes) == before


@spec("O15")
def test_a_session_begins_with_its_notes_up_to_date(
    open_mem: Callable[..., Memotherm], workspace: Path, tmp_path: Path
) -> None:
    """Known folders are synced when a session is new, unless the setting says no."""
    mem = open_mem(tmp_path / "a.db")
    mem.notes(workspace).sync()
    (workspace / "memory" / "new.md").write_text("A pangolin came by.")
    mem.session("s1")
    assert len(mem.recall("pangolin", min_score=0.5)) == 1

    (workspace / "memory" / "newer.md").write_text("A wombat came by.")
    mem.session("s1")
    assert mem.recall("wombat", min_score=0.5).hits == ()
    other = open_mem(tmp_path / "a.db", settings={"sync_on_session_start": False})
    other.session("s2")
    assert other.recall("wombat", min_score=0.5).hits == ()

    fresh = open_mem(tmp_path / "b.db", settings={"notes_root": str(workspace), "sync_on_search": False})
    fresh.session("s1")
    assert len(fresh.recall("wombat", min_score=0.5)) == 1


def test_a_session_begins_even_when_its_notes_are_gone(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """A folder that vanished is no reason to fail, nor to forget what was in it."""
    import shutil

    notes.sync()
    shutil.rmtree(workspace)
    mem.session("s1")

    assert len(mem.recall("metric units", min_score=0.3)) == 1
    with pytest.raises(NoteUnavailable, match="left unchanged"):
        notes.sync()


def test_a_folder_that_cannot_be_read_keeps_what_is_known(notes: Notes, workspace: Path) -> None:
    """The answer says which one it was."""
    notes.sync()
    folder = workspace / "memory" / "projects"
    folder.chmod(0)
    try:
        done = notes.sync()
        closed = [each.path for each in done.skipped]
    finally:
        folder.chmod(0o755)

    assert closed in (["memory/projects"], [])
    assert "memory/projects/atlas.md" in notes.paths()


def test_progress_counts_files(notes: Notes) -> None:
    """Up to the number of files that made work."""
    told: list[tuple[int, int]] = []
    notes.sync(lambda done, total: told.append((done, total)))

    assert told[-1] == (4, 4)


def test_a_file_that_is_too_large_is_skipped_and_named(
    notes: Notes, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is cut off silently."""
    monkeypatch.setattr("memotherm.notes.files.MAX_BYTES", 60)
    (workspace / "memory" / "big.md").write_text("x" * 61)

    assert "larger than 60 bytes" in next(each for each in notes.sync().skipped if each.path.endswith("big.md")).why


def test_a_write_in_the_same_tick_of_the_clock_is_seen(notes: Notes, workspace: Path) -> None:
    """Same size, same time stamp, other bytes: a fresh file is compared by its content."""
    file = workspace / "memory" / "tick.md"
    file.write_text("first gnu")
    notes.sync()
    told = file.stat()
    file.write_text("other gnu")
    os.utime(file, ns=(told.st_atime_ns, told.st_mtime_ns))

    assert [hit.snippet for hit in notes.search("gnu")] == ["other gnu"]


def test_notes_of_a_scope_are_seen_under_the_rule_of_visibility(mem: Memotherm, workspace: Path) -> None:
    """A project's notes are seen by its agents, and by nobody else."""
    mem.scoped(project="atlas").notes(workspace).sync()

    assert len(mem.scoped(project="atlas", agent="a").recall("glaciers", min_score=0.3)) == 1
    assert mem.scoped(project="other").recall("glaciers", min_score=0.3).hits == ()
    assert mem.scope == Scope()


def test_a_root_must_be_a_folder(mem: Memotherm, tmp_path: Path) -> None:
    """The message says what to do."""
    with pytest.raises(InvalidInput, match="is not a folder"):
        mem.notes(tmp_path / "nowhere")


def test_an_empty_folder_leaves_no_trace(mem: Memotherm, tmp_path: Path) -> None:
    """Nothing is written before there is something to index."""
    (tmp_path / "empty").mkdir()
    notes = mem.notes(tmp_path / "empty")
    before = mem.status().seq

    assert str(notes.sync()) == "0 unchanged"
    assert notes.search("anything").hits == ()
    assert notes.paths() == []
    assert mem.status().seq == before


def test_a_day_is_the_users_day(open_mem: Callable[..., Memotherm], workspace: Path, clock: FakeClock) -> None:
    """Whether a note is old is asked in the user's time zone."""
    clock.now = datetime(2026, 2, 2, 23, 0, tzinfo=UTC)
    behind = open_mem(settings={"timezone": "America/New_York"})
    ahead = open_mem(settings={"timezone": "Asia/Tokyo"})
    tiers = []
    for mem in (behind, ahead):
        mem.notes(workspace).sync()
        tiers += [str(each.tier) for each in mem.find(limit=9) if each.metadata["path"].endswith("2026-01-04.md")]

    assert tiers == ["warm", "cold"]


def test_two_embedders_of_tests_differ() -> None:
    """The tests above rely on it."""
    assert HashEmbedder(seed=1).name != HashEmbedder(seed=2).name


def test_clearing_takes_a_folder_out_of_the_store(mem: Memotherm, notes: Notes, workspace: Path) -> None:
    """Nothing of it is left to be found, no session brings it back, and the files stay."""
    notes.sync()
    own = mem.remember("Own words about glaciers")

    assert notes.clear() == 4
    assert notes.paths() == []
    mem.session("s1")
    assert [hit.memory.id for hit in mem.recall("glaciers", tiers=EVERYWHERE, min_score=0.3)] == [own.id]
    assert (workspace / "memory" / "projects" / "atlas.md").exists()
    assert len(notes.sync().added) == 4


def test_files_may_be_renamed_again_while_they_are_read(notes: Notes, workspace: Path) -> None:
    """What is gone when its turn comes is left out, and the next sync has it under its last name."""
    memory = workspace / "memory"
    (memory / "one.md").write_text("a tapir")
    notes.sync()
    (memory / "one.md").rename(memory / "two.md")
    (memory / "other.md").write_text("okapis.")

    def renamed(file: str) -> FileContent | None:
        if Path(file).name == "other.md" and (memory / "other.md").exists():
            (memory / "other.md").rename(memory / "last.md")
        return read_file(file)

    with patch("memotherm.notes.sync.read_file", renamed):
        notes.sync()
    notes.sync()
    assert {"memory/two.md", "memory/last.md"} <= {*notes.paths()}
    assert not {"memory/one.md", "memory/other.md"} & {*notes.paths()}
