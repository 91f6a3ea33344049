"""Past sessions become memories: each once, with their own times, and undone as one batch."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memotherm import Memory, Memotherm
from memotherm.errors import InvalidInput, NotFound
from memotherm.history.backfill import Backfill, Backfilled, Wanted
from memotherm.hooks.project import user_name
from memotherm.testing import FakeClock, HashEmbedder
from tests.history.lines import Lines, said, write

Run = Callable[..., Backfilled]
_NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    """A day on which the sessions are some days to some months old."""
    return FakeClock(_NOW)


@pytest.fixture
def source() -> Lines:
    """A source that counts the transcripts it parses."""
    return Lines()


@pytest.fixture
def run(mem: Memotherm, source: Lines, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Read and store the sessions below a folder."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path / "memotherm"))

    def ran(into: Memotherm | None = None, **wanted: object) -> Backfilled:
        with Backfill((into or mem).by("person"), {source.name: source}, Wanted(**wanted), {}, tmp_path) as backfill:  # type: ignore[arg-type]
            backfill.read()
            return backfill.store()

    return ran


def _stored(mem: Memotherm) -> list[Memory]:
    return list(mem.find(include_narrower=True, limit=1000, order="oldest"))


def test_sessions_keep_their_times_projects_and_places(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """A memory has the time of its prompt, the project of its folder, session, branch and files."""
    edit = {"role": "edit", "text": "/w/shop/db/orders.sql", "time": "2026-11-10T09:01:00+00:00"}
    turn = said("2026-11-10T09:00:00+00:00", "why is the checkout slow?", "The index on orders.created_at is missing.")
    write(tmp_path, "s1", *turn, edit)
    done = run()
    (memory,) = _stored(mem)
    assert done.stored == 1
    assert memory.created_at == datetime(2026, 11, 10, 9, tzinfo=UTC)
    assert "orders.created_at" in memory.content
    assert "checkout slow" in memory.content
    assert (memory.scope.project or "").startswith("shop-")
    assert memory.scope.user == user_name()
    where = {"session": "s1", "folder": "/w/shop", "branch": "main", "files": ["db/orders.sql"]}
    expected = {**where, "client": "claude", "role": "assistant"}
    assert memory.metadata == expected
    assert memory.source == "history:claude-code"
    assert memory.scope.agent == "history"
    assert memory.updated_at == memory.created_at


def test_tiers_follow_the_dates(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """The last weeks are warm, older turns cold, rules stay warm, and nothing is hot."""
    write(tmp_path, "new", *said("2026-11-10T09:00:00+00:00", "The staging host is emu-7.example.com."))
    write(tmp_path, "old", *said("2026-02-10T09:00:00+00:00", "The staging host was fox-3.example.com."))
    write(tmp_path, "rule", *said("2026-02-11T09:00:00+00:00", "Always run the linter before you commit."))
    run()
    tiers = {memory.content.split()[0] + memory.content.split()[3]: str(memory.tier) for memory in _stored(mem)}
    assert tiers == {"Theis": "warm", "Thewas": "cold", "Alwayslinter": "warm"}


def test_past_sessions_answer_only_what_nothing_else_answers(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """A recall and a context look there if their own candidates do not answer; an archive search always does."""
    write(tmp_path, "s1", *said("2026-11-10T09:00:00+00:00", "The retry limit of the gateway Kong is 5."))
    run()
    (memory,) = _stored(mem)
    project = mem.scoped(project=memory.scope.project, user=memory.scope.user).by("person")
    question = "what is the retry limit of the gateway Kong?"
    assert [hit.memory.id for hit in project.recall(question)] == [memory.id]
    assert "retry limit" in project.context(question).text
    assert "retry limit" in project.session("new").before_turn(question).text
    stored = project.remember("The retry limit of the gateway Kong is 9.")
    assert [hit.memory.id for hit in project.recall(question)] == [stored.id]
    assert memory.content not in project.context(question).text
    for options in ({"tiers": ("hot", "warm", "cold")}, {"since": "30d"}):
        assert {hit.memory.id for hit in project.recall(question, **options)} == {memory.id, stored.id}


def test_a_question_about_the_user_is_not_answered_by_past_sessions_where_something_else_answers(
    mem: Memotherm, run: Run, tmp_path: Path
) -> None:
    """Their preferences and facts about the user come neither before nor beside it."""
    write(tmp_path, "s1", *said("2026-11-10T09:00:00+00:00", "I prefer the deploy marker over the tag."))
    run()
    (memory,) = _stored(mem)
    assert memory.kind == "preference"
    user = mem.scoped(user=memory.scope.user).by("person")
    fact = user.remember("I live in Leeds.")
    assert [hit.memory.id for hit in user.recall("where do I live?")] == [fact.id]
    assert [entry.id for entry in user.context("where do I live?").included] == [fact.id]


def test_rules_of_past_sessions_hold_in_new_ones(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """They are there at the start of a session, whatever their age."""
    write(tmp_path, "s1", *said("2026-02-10T09:00:00+00:00", "Always run the linter before you commit."))
    run()
    (memory,) = _stored(mem)
    project = mem.scoped(project=memory.scope.project, user=memory.scope.user)
    assert "run the linter" in project.session("new").session_start().text


def test_a_second_run_parses_and_stores_nothing(mem: Memotherm, run: Run, source: Lines, tmp_path: Path) -> None:
    """Unchanged transcripts are not opened."""
    for number in range(5):
        write(
            tmp_path, f"s{number}", *said("2026-11-01T09:00:00+00:00", f"The port of service {number} is 80{number}0.")
        )
    assert run().stored == 5
    source.parsed.clear()
    again = run()
    assert (again.stored, again.batch, source.parsed) == (0, "", [])
    assert len(_stored(mem)) == 5


def test_a_transcript_that_has_grown_adds_only_what_is_new(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """Resumed sessions append."""
    first = said("2026-11-01T09:00:00+00:00", "The port of the gateway is 8443.", "Noted.")
    write(tmp_path, "s1", *first)
    run()
    write(tmp_path, "s1", *first, *said("2026-11-02T09:00:00+00:00", "The retry limit of the gateway is 5."))
    assert run().stored == 1
    assert len(_stored(mem)) == 2


def test_forks_and_replays_are_stored_once(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """A copy of the records under another session has the same ids, in the same run and in a later one."""
    turn = said("2026-11-01T09:00:00+00:00", "The port of the gateway is 8443.")
    write(tmp_path, "s1", *turn)
    write(tmp_path, "s2", *turn, copies="s1")
    run()
    write(tmp_path, "s3", *turn, copies="s1")
    run()
    assert len(_stored(mem)) == 1


@pytest.mark.parametrize("copy", ["s0", "s2"])
def test_of_two_copies_of_a_turn_the_longer_one_is_stored(
    mem: Memotherm, run: Run, source: Lines, tmp_path: Path, copy: str
) -> None:
    """A session that goes on in the background has its first turn in two files, and the answer only in one."""
    secret = "ghp_" + "a1B2c3D4e5" * 4
    turn = said("2026-11-01T09:00:00+00:00", f"which port does the gateway use? The token is {secret}.", "Let me look.")
    write(tmp_path, "s1", *turn)
    answer = {"role": "assistant", "text": "The gateway uses port 8443.", "time": "2026-11-01T09:05:00+00:00"}
    write(tmp_path, copy, *turn, answer, copies="s1")
    with Backfill(mem, {source.name: source}, Wanted(), {}, tmp_path) as backfill:
        backfill.read()
        assert (backfill.turns, backfill.found[0].redacted) == (1, 1)
    run()
    (memory,) = _stored(mem)
    assert "8443" in memory.content


def test_the_turn_of_a_running_session_waits(mem: Memotherm, run: Run, clock: FakeClock, tmp_path: Path) -> None:
    """Its answer may be still to come, so it is read again."""
    prompt = said("2026-11-18T11:50:00+00:00", "which port does the gateway use?")
    write(tmp_path, "s1", *prompt)
    assert run().stored == 0
    write(tmp_path, "s1", *said("2026-11-18T11:50:00+00:00", "which port does the gateway use?", "It uses 8443."))
    clock.advance(hours=2)
    assert run().stored == 1
    assert "8443" in _stored(mem)[0].content


def test_a_session_of_a_clock_that_was_fast_is_stored(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """It is not taken for one that still goes on, and nothing is dated later than today."""
    write(tmp_path, "s1", *said("2099-01-01T09:00:00+00:00", "The port of the gateway is 8443."))
    assert run().stored == 1
    assert _stored(mem)[0].created_at == _NOW


def test_half_a_character_becomes_the_sign_for_an_unknown_one(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """A question mark would make a question of the statement before it."""
    (record,) = said("2026-11-01T09:00:00+00:00", "The port of \ud83d the gateway \ud83d\ude80 is 8443.")
    write(tmp_path, "s1", json.dumps({"id": "s1-0", "session": "s1", "project": "/w/shop", **record}))
    run()
    assert [memory.content for memory in _stored(mem)] == ["The port of \ufffd the gateway \U0001f680 is 8443."]


def test_undo_takes_back_exactly_the_batch(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """What was there before, and what an earlier batch has stored, stays; what it superseded holds again."""
    write(tmp_path, "s1", *said("2026-03-01T09:00:00+00:00", "The retry limit of the gateway is 5."))
    run()
    mem.remember("The office is in Vienna")
    write(tmp_path, "s2", *said("2026-05-01T09:00:00+00:00", "Correction: the retry limit of the gateway is 3."))
    write(tmp_path, "s3", *said("2026-05-02T09:00:00+00:00", "The gateway listens on port 8443."))
    batch = run().batch
    assert len(_stored(mem)) == 4
    last, first = mem.inspect.batches()
    assert (last.name, last.stored, last.left, first.stored, first.left) == (batch, 2, 2, 1, 1)
    undone = mem.by("person").bulk.undo(batch=batch)
    assert [each.left for each in mem.inspect.batches()] == [0, 1]
    assert {memory.content for memory in _stored(mem)} == {
        "The retry limit of the gateway is 5.", "The office is in Vienna",
    }  # fmt: skip
    assert all(memory.valid_until is None for memory in _stored(mem))
    assert not undone.skipped
    assert run().stored == 0


def test_only_batches_are_undone_by_their_name(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """The name of a person or an agent is none, although the ledger has it in the same place."""
    write(tmp_path, "s1", *said("2026-11-01T09:00:00+00:00", "The port of the shop is 8443."))
    run()
    mem.remember("The office is in Vienna")
    for name in ("agent", "root", "backfill-20200101-000000-0000"):
        with pytest.raises((InvalidInput, NotFound)):
            mem.by("person").store.undo_batch(name)
    assert len(_stored(mem)) == 2


def test_a_later_correction_supersedes_an_earlier_statement(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """Whatever the order of the files is."""
    write(tmp_path, "a-may", *said("2026-05-01T09:00:00+00:00", "Correction: the retry limit of the gateway is 3."))
    write(tmp_path, "b-march", *said("2026-03-01T09:00:00+00:00", "The retry limit of the gateway is 5."))
    run()
    old, new = _stored(mem)
    assert old.valid_until == new.created_at
    assert new.valid_until is None


def test_an_old_correction_leaves_what_was_said_later(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """A store that is in use knows newer things."""
    write(tmp_path, "s1", *said("2026-03-01T09:00:00+00:00", "Correction: the retry limit of the gateway is 3."))
    folder = run(exclude=("*",))
    assert folder.stored == 0
    project = "shop"
    now = mem.scoped(project=project, user=user_name()).by("person").remember("The retry limit of the gateway is 9.")
    run()
    assert mem.get(now.id, include_narrower=True).valid_until is None


def test_secrets_are_replaced_before_anything_is_written(
    mem: Memotherm, run: Run, source: Lines, tmp_path: Path
) -> None:
    """They are counted in what was found."""
    secret = "ghp_" + "a1B2c3D4e5" * 4
    write(tmp_path, "s1", *said("2026-11-01T09:00:00+00:00", f"The token of the deploy bot is {secret}, keep it."))
    with Backfill(mem, {source.name: source}, Wanted(), {}, tmp_path) as backfill:
        backfill.read()
        assert backfill.found[0].redacted == 1
        backfill.store()
    assert secret not in json.dumps([memory.content for memory in _stored(mem)])


def test_secrets_in_commands_and_errors_are_replaced_before_they_are_cut(
    mem: Memotherm, run: Run, tmp_path: Path
) -> None:
    """No part of a key is left at the place where a long command is shortened."""
    secret = "ghp_" + "a1B2c3D4e5" * 4
    for length in range(150, 190, 5):
        command = {"role": "command", "text": f"./deploy {'x' * length} {secret}"}
        failed = {**command, "failed": True, "output": f"{'denied ' * 40} token {secret}"}
        edit = {"role": "edit", "text": "/w/shop/deploy.sh"}
        time = "2026-11-01T09:00:00+00:00"
        records = [{**each, "time": time} for each in (failed, edit, command)]
        write(tmp_path, f"s{length}", *said(time, f"deploy release {length} to staging"), *records)
    run()
    contents = json.dumps([[memory.content, memory.metadata] for memory in _stored(mem)])
    assert "it succeeded after a change of deploy.sh" in contents
    assert secret[:12] not in contents


def test_excluded_projects_and_sessions_stay_out(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """By the name of the folder, or by the id of the session."""
    write(tmp_path, "s1", *said("2026-11-01T09:00:00+00:00", "The port of the shop is 8443."), folder="/w/shop")
    write(tmp_path, "s2", *said("2026-11-01T09:00:00+00:00", "The diary is kept in blue ink."), folder="/w/diary")
    write(tmp_path, "s3", *said("2026-11-01T09:00:00+00:00", "The queue of the shop is Redis."), folder="/w/shop")
    run(exclude=("diary", "s3"))
    assert [memory.content for memory in _stored(mem)] == ["The port of the shop is 8443."]


def test_a_poisoned_session_stops_no_other(mem: Memotherm, source: Lines, run: Run, tmp_path: Path) -> None:
    """It is named, and read again by the next run."""
    turn = said("2026-11-01T09:00:00+00:00", "The port of the shop is 8443.", "Noted.")
    write(tmp_path, "s1", *turn, *said("2026-11-01T09:05:00+00:00", "thanks"), "poison")
    write(tmp_path, "s2", "{torn", "not json")
    write(tmp_path, "s3", *said("2026-11-01T09:00:00+00:00", "The queue of the shop is Redis."))
    with Backfill(mem, {source.name: source}, Wanted(), {}, tmp_path) as backfill:
        backfill.read()
        assert {Path(path).stem for path in backfill.found[0].problems} == {"s1", "s2"}
        assert backfill.store().stored == 2
    source.parsed.clear()
    run()
    assert source.parsed == ["s1", "s2"]


def test_what_hooks_have_stored_is_not_stored_again(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """Only the turns before the hooks were installed are read."""
    when = datetime(2026, 11, 1, 10, tzinfo=UTC)
    project = mem.scoped(project="shop", user=user_name()).by("person")
    project.capture("The queue of the shop is Redis.", metadata={"session": "s1"}, source="hook", at=when)
    write(
        tmp_path, "s1",
        *said("2026-11-01T09:00:00+00:00", "The port of the shop is 8443."),
        *said("2026-11-01T10:00:00+00:00", "The queue of the shop is Redis."),
        *said("2026-11-01T11:00:00+00:00", "The cache of the shop is Valkey."),
    )  # fmt: skip
    assert run().stored == 1


def test_what_was_forgotten_does_not_come_back(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """Neither by the same session, nor by another one that says the same."""
    write(tmp_path, "s1", *said("2026-11-01T09:00:00+00:00", "The port of the shop is 8443."))
    run()
    (memory,) = _stored(mem)
    mem.scoped(**dict(memory.scope.items())).by("person").forget(memory.id)
    write(
        tmp_path, "s1",
        *said("2026-11-01T09:00:00+00:00", "The port of the shop is 8443."),
        *said("2026-11-02T09:00:00+00:00", "The queue of the shop is Redis."),
    )  # fmt: skip
    write(tmp_path, "s2", *said("2026-11-03T09:00:00+00:00", "The port of the shop is 8443."))
    done = run()
    assert done.stored == 1
    assert [memory.content for memory in _stored(mem)] == ["The queue of the shop is Redis."]


def test_the_words_of_agents_and_of_foreign_files_have_less_trust(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """A person's words are the person's; an answer is an agent's; a named file is an import."""
    write(tmp_path, "s1", *said("2026-11-01T09:00:00+00:00", "The port of the shop is 8443."))
    write(tmp_path, "s2", *said("2026-11-02T09:00:00+00:00", "where is the queue?", "It is on host emu-7.example.com."))
    run()
    write(tmp_path / "elsewhere", "s3", *said("2026-11-03T09:00:00+00:00", "The cache of the shop is Valkey."))
    run(path=tmp_path / "elsewhere" / "sessions")
    assert [str(memory.trust) for memory in _stored(mem)] == ["person", "agent", "import"]


def test_words_are_found_before_vectors_are_made(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """Maintenance makes the vectors, and status says how many are missing."""
    write(tmp_path, "s1", *said("2026-11-01T09:00:00+00:00", "The port of the shop is 8443."))
    run()
    assert mem.recall("port of the shop", include_narrower=True).hits
    assert mem.status(include_narrower=True).pending_vectors == 1
    mem.maintain()
    assert mem.status(include_narrower=True).pending_vectors == 0


def test_since_and_project_choose_sessions(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """Other sessions stay unread for a later run."""
    write(tmp_path, "s1", *said("2026-11-01T09:00:00+00:00", "The port of the shop is 8443."))
    write(tmp_path, "s2", *said("2026-03-01T09:00:00+00:00", "The queue of the shop is Redis."))
    write(tmp_path, "s3", *said("2026-11-01T09:00:00+00:00", "The blog is made with Hugo."), folder="/w/blog")
    run(since=datetime(2026, 10, 1, tzinfo=UTC), projects=("shop",))
    assert [memory.content for memory in _stored(mem)] == ["The port of the shop is 8443."]
    assert run().stored == 2


def test_what_was_excluded_is_read_when_it_no_longer_is(
    mem: Memotherm, run: Run, source: Lines, tmp_path: Path
) -> None:
    """With the same exclusion, it is not even parsed again."""
    write(tmp_path, "s1", *said("2026-11-01T09:00:00+00:00", "The port of the shop is 8443."))
    assert run(exclude=("shop",)).stored == 0
    source.parsed.clear()
    assert run(exclude=("shop",)).stored == 0
    assert source.parsed == []
    assert run().stored == 1


def test_vectors_of_newer_memories_are_made_first(open_mem: Callable[..., Memotherm], run: Run, tmp_path: Path) -> None:
    """What is likely to be asked for is found by its meaning first."""
    for month in (3, 9, 6):
        write(tmp_path, f"s{month}", *said(f"2026-{month:02}-01T09:00:00+00:00", f"The port of service {month} is 80."))
    embedder = HashEmbedder(record=True)
    mem = open_mem(tmp_path / "other.db", embedder=embedder)
    run(mem)
    assert embedder.texts == []
    mem.maintain()
    assert [text.split()[4] for text in embedder.texts] == ["9", "6", "3"]


def test_words_are_found_before_statements_are_read(
    mem: Memotherm, run: Run, source: Lines, clock: FakeClock, tmp_path: Path
) -> None:
    """A run that ends in between goes on later: nothing twice, what is corrected ceases to hold, and one undo."""
    write(tmp_path, "s1", *said("2026-03-01T09:00:00+00:00", "The retry limit of the gateway is 5."))
    write(
        tmp_path, "s2",
        *said("2026-05-01T09:00:00+00:00", "Correction: the retry limit of the gateway is 3."),
        *said("2026-05-02T09:00:00+00:00", "We decided to use Postgres. Always run the linter before you commit."),
        *said("2026-05-03T09:00:00+00:00", "My dog is called Rex."),
    )  # fmt: skip
    with Backfill(mem.by("person"), {source.name: source}, Wanted(), {}, tmp_path) as backfill:
        backfill.read()
        backfill.store_words()
    assert {memory.kind for memory in _stored(mem)} == {"unread-turn"}
    assert (
        len(mem.recall("which retry limit has the gateway?", tiers=("warm", "cold"), include_narrower=True).hits) == 2
    )
    pinned = _stored(mem)[0]
    mem.scoped(**dict(pinned.scope.items())).by("person").pin(pinned.id)
    assert mem.check() == []
    clock.advance(hours=1)
    assert run().stored == 5
    assert sorted(memory.kind for memory in _stored(mem)) == ["decision", "fact", "fact", "message", "rule"]
    old, new = (memory for memory in _stored(mem) if "retry limit" in memory.content)
    assert (old.id, str(old.priority), old.valid_until) == (pinned.id, "pinned", new.created_at)
    assert all(memory.updated_at == memory.created_at for memory in (new, *_stored(mem)[2:]))
    assert mem.check() == []
    write(tmp_path, "s2", *said("2026-05-03T09:00:00+00:00", "My dog is called Rex.", "Noted."))
    assert run().stored == 0
    assert len(_stored(mem)) == 5
    (batch,) = mem.inspect.batches()
    mem.by("person").bulk.undo(batch=batch.name)
    assert _stored(mem) == []


def test_a_turn_whose_transcript_is_gone_before_it_is_read_becomes_a_message(
    mem: Memotherm, run: Run, source: Lines, tmp_path: Path
) -> None:
    """Programs delete transcripts, and a run may be killed; what is still there is read, now or later."""
    gone = write(tmp_path, "s1", *said("2026-03-01T09:00:00+00:00", "The retry limit of the gateway is 5."))
    write(tmp_path, "s2", *said("2026-05-02T09:00:00+00:00", "Always run the linter before you commit."))
    broken = write(tmp_path, "s3", *said("2026-05-03T09:00:00+00:00", "We decided to use Postgres for the ledger."))
    with Backfill(mem.by("person"), {source.name: source}, Wanted(), {}, tmp_path) as backfill:
        backfill.read()
        backfill.store_words()
    gone.unlink()
    whole = broken.read_text("utf-8")
    broken.write_text("poison\n", "utf-8")
    assert run().stored == 2
    assert [memory.kind for memory in _stored(mem)] == ["message", "rule", "unread-turn"]
    assert mem.check() == []
    broken.write_text(whole, "utf-8")
    run()
    assert [memory.kind for memory in _stored(mem)] == ["message", "rule", "decision"]
    for batch in mem.inspect.batches():
        mem.by("person").bulk.undo(batch=batch.name)
    assert _stored(mem) == []


def test_the_same_statement_in_other_words_beside_it_is_stored_once(mem: Memotherm, run: Run, tmp_path: Path) -> None:
    """The turns differ, and the rule in them is one."""
    rule = "Always run the linter before you commit."
    write(tmp_path, "s1", *said("2026-05-01T09:00:00+00:00", f"{rule} The retry limit of the gateway is 5."))
    write(tmp_path, "s2", *said("2026-05-02T09:00:00+00:00", f"{rule} We decided to use Postgres for the ledger."))
    batch = run().batch
    assert [memory.content for memory in _stored(mem)].count(rule) == 1
    undone = mem.by("person").bulk.undo(batch=batch)
    assert (_stored(mem), undone.skipped) == ([], ())
