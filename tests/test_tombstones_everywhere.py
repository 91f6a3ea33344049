"""What a person has purged stays away: on every path, in every scope that sees it, in every field, at bounded cost."""

from __future__ import annotations

import contextlib
import itertools
import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

import memotherm
from memotherm import Memotherm
from memotherm.cli.app import run
from memotherm.errors import Forbidden, InvalidInput
from memotherm.facade.capture import apply_reports
from memotherm.hooks.capture import process_spool
from memotherm.hooks.spool import Spool
from memotherm.rest.app import application
from memotherm.text.spelling import RollingHash, spelled, statements_of
from memotherm.tools import call
from tests.helpers import is_linear

OLD = "Ana's phone number is 650-555-0177"
PASSWORD = "heron-Tr0ub4dor&3"
PAGE = "The ferry to Capri leaves at nine"
Walk = Callable[[Memotherm, Path], object]


def shown(mem: Memotherm) -> str:
    """Return everything that a scope shows of its memories: contents, fields, and a context."""
    found = [memory.as_dict() for memory in mem.find()]
    asked = [mem.context(query).text for query in (OLD, PASSWORD, PAGE)]
    text = json.dumps([found, asked], ensure_ascii=False).casefold().replace("-", "").replace(" ", "")
    return text.translate(str.maketrans("٠١٢٣٤٥٦٧٨٩", "0123456789"))


def has_it(mem: Memotherm) -> bool:
    """Return whether the phone number or the password is shown."""
    text = shown(mem)
    return any(each in text for each in ("6505550177", "herontr0ub4dor&3"))


# Every path


def imported(mem: Memotherm, folder: Path, **values: Any) -> object:
    """Import an entry of another program."""
    (folder / "other.jsonl").write_text(json.dumps({"content": PAGE, **values}))
    return mem.store.import_("jsonl", folder / "other.jsonl")


def noted(mem: Memotherm, folder: Path) -> object:
    """Write a note."""
    (folder / "notes").mkdir(exist_ok=True)
    (folder / "notes" / "MEMORY.md").write_text(f"# {OLD}\n\n- {OLD}\n- Ben: {OLD}\n")
    return mem.notes(folder / "notes").sync()


def edited_note(mem: Memotherm, folder: Path) -> object:
    """Write a note, and change it."""
    (folder / "edited").mkdir(exist_ok=True)
    file = folder / "edited" / "MEMORY.md"
    file.write_text(f"- {PAGE} sharp\n")
    notes = mem.notes(folder / "edited")
    notes.sync()
    file.write_text(f"- {OLD}\n")
    return notes.sync()


def hidden(mem: Memotherm, verb: str) -> str:
    """Return the id of a memory that was hidden before a copy of it was purged."""
    (found,) = [each.id for each in mem.find(retention="any") if each.metadata.get("hidden") == verb]
    return found


def ended(mem: Memotherm) -> object:
    """End a session with a summary."""
    return mem.session("s1").end(summary=f"We talked. {OLD}.")


def kept(mem: Memotherm) -> object:
    """Say it in a session, and keep it."""
    session = mem.session("s2")
    return session.keep(session.add(OLD).id)


def requested(mem: Memotherm, route: str, **body: Any) -> object:
    """Send a request of an agent."""
    answer = TestClient(application(mem), base_url="http://127.0.0.1:8077").post(route, json=body)
    return answer.status_code


WALKS: dict[str, Walk] = {
    "remember": lambda mem, _: mem.remember(f"Note: {OLD}"),
    "remember_many": lambda mem, _: mem.remember_many([{"content": PAGE}, {"content": OLD}]),
    "remember under a key": lambda mem, _: mem.remember(OLD, key="ana/phone"),
    "replace under a key": lambda mem, _: (mem.remember(PAGE, key="x"), mem.remember(OLD, key="x")),
    "supersede": lambda mem, _: mem.remember(OLD, supersedes=mem.remember(PAGE).id),
    "update": lambda mem, _: mem.update(mem.remember(PAGE).id, content=OLD),
    "update of tags": lambda mem, _: mem.update(mem.remember(PAGE).id, tags=[OLD]),
    "update of metadata": lambda mem, _: mem.update(mem.remember(PAGE).id, metadata={"a": [{"b": OLD}]}),
    "update of a key": lambda mem, _: mem.update(mem.remember(PAGE).id, key=OLD),
    "amend": lambda mem, _: mem.amend(mem.remember(f"{PAGE}. Ben likes tea.").id, OLD, part="Ben likes tea."),
    "merge": lambda mem, _: (mem.remember(PAGE), mem.remember(PAGE, metadata={"note": OLD})),
    "source": lambda mem, _: mem.remember(PAGE, source=OLD),
    "metadata": lambda mem, _: mem.remember(PAGE, metadata={"note": f"see {OLD}"}),
    "names in metadata": lambda mem, _: mem.remember(PAGE, metadata={OLD: 1}),
    "tags": lambda mem, _: mem.remember(PAGE, tags=[OLD]),
    "divided between tags": lambda mem, _: mem.remember(PAGE, tags=["Ana's phone number is", "650 555 0177"]),
    "key": lambda mem, _: mem.remember(PAGE, key="anas-phone-number-is-650-555-0177"),
    "other digits": lambda mem, _: mem.remember("Ana's phone number is ٦٥٠-٥٥٥-٠١٧٧"),
    "restore": lambda mem, _: mem.restore(hidden(mem, "forget")),
    "restore an archived one": lambda mem, _: mem.restore(hidden(mem, "archive")),
    "restore many": lambda mem, _: mem.bulk.restore(contains="0177"),
    "undo": lambda mem, _: mem.undo(mem.history(hidden(mem, "forget"))[-1].seq),
    "approve": lambda mem, _: mem.approve(hidden(mem, "propose")),
    "approve many": lambda mem, _: mem.bulk.approve(contains="0177"),
    "remember a proposal": lambda mem, _: mem.remember(f"{OLD}, proposed"),
    "reject and restore": lambda mem, _: mem.restore(mem.reject(hidden(mem, "propose")).id),
    "rescope": lambda mem, _: mem.rescope(hidden(mem, "other"), {"project": "p", "user": "u"}),
    "keep of a session": lambda mem, _: kept(mem),
    "end of a session": lambda mem, _: ended(mem),
    "alias": lambda mem, _: mem.alias("Ben", OLD),
    "capture": lambda mem, _: mem.capture(f"She said: {OLD}, and then: {PAGE}."),
    "capture with metadata": lambda mem, _: mem.capture(f"{PAGE}, they say", metadata={"note": OLD}, tags=[OLD]),
    "capture with a source": lambda mem, _: mem.capture(f"{PAGE}, he says", source=f"chat: {OLD}"),
    "propose": lambda mem, _: mem.remember(OLD, source="extracted"),
    "import": lambda mem, folder: imported(mem, folder, content=f"Note: {OLD}"),
    "import with fields": lambda mem, folder: imported(
        mem, folder, metadata={"x": [OLD]}, tags=[OLD], source=OLD, key=OLD
    ),
    "notes": noted,
    "edit of a note": edited_note,
    "tool": lambda mem, _: call(mem, "store_memory", {"content": OLD}),
    "tool for a key": lambda mem, _: call(mem, "memory_put_key", {"key": "a", "value": {"said": OLD}}),
    "REST": lambda mem, _: requested(mem, "/memories", content=OLD),
    "REST approve": lambda mem, _: requested(mem, "/memories:approve", contains="0177"),
}


def prepared(mem: Memotherm) -> None:
    """Store the number in many ways, and let a person purge one of them."""
    for verb in ("forget", "archive"):
        getattr(mem, verb)(mem.remember(f"{OLD}, {verb}", metadata={"hidden": verb}).id)
    mem.remember(f"{OLD}, proposed", source="extracted", metadata={"hidden": "propose"})
    mem.scoped(session="s9").remember(OLD, metadata={"hidden": "other"})
    person = mem.by("person")
    person.purge(person.remember(OLD).id)


@pytest.mark.parametrize("walk", WALKS)
def test_an_agent_shows_what_a_person_has_purged_on_no_path(
    walk: str, open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """Each path refuses it, or stores the rest without it."""
    mem = open_mem(tmp_path / "memory.db").scoped(project="p", user="u")
    prepared(mem)
    with contextlib.suppress(Forbidden, InvalidInput):
        WALKS[walk](mem.scoped(session="s9") if walk == "rescope" else mem, tmp_path)
    assert not has_it(mem)
    assert mem.check() == []


@pytest.mark.sqlite
def test_hooks_and_a_restored_checkpoint_do_not_bring_it_back(
    open_mem: Callable[..., Memotherm], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A hook stores the rest; a checkpoint of the time before is restored without it, and goes on refusing it."""
    monkeypatch.setenv("MEMOTHERM_STORE", str(tmp_path / "memory.db"))
    mem = open_mem(tmp_path / "memory.db").scoped(project="p")
    old = mem.by("person").remember(OLD)
    mem.checkpoint(tmp_path / "before.db")
    mem.by("person").purge(old.id)
    spool = Spool(tmp_path / "spool")
    place = {"client": "claude", "session": "s1", "folder": str(tmp_path), "scope": {"project": "p"}}
    spool.add({"do": "capture", "role": "user", "text": f"We decided that {OLD}. Also, {PAGE}.", **place})
    assert process_spool(spool, include_running=True).failed == ()
    assert not has_it(mem)
    assert "capri" in shown(mem)
    memotherm.restore(tmp_path / "before.db", tmp_path / "again.db")
    with memotherm.open(tmp_path / "again.db", embedder="none") as again:
        assert not has_it(again.scoped(project="p"))
        with pytest.raises(Forbidden):
            again.scoped(project="p").remember(OLD)


def test_only_a_person_approves(mem: Memotherm) -> None:
    """Neither an agent nor an import, by whatever verb; the message says who can."""
    proposal = mem.remember(PAGE, source="extracted")
    for other in (mem, mem.by("import")):
        with pytest.raises(Forbidden, match="only a person approves"):
            other.approve(proposal.id)
        with pytest.raises(Forbidden, match="only a person approves"):
            other.bulk.approve(contains="ferry")
    assert requested(mem, f"/memories/{proposal.id}/approve") == 403
    rejected = mem.reject(mem.remember("The ferry is late", source="extracted").id)
    for hidden_one in (rejected, mem.forget(mem.remember("The ferry is full", source="extracted").id)):
        with pytest.raises(Forbidden, match="only a person approves"):
            mem.restore(hidden_one.id)
        assert mem.by("person").restore(hidden_one.id).retention == "active"
    assert mem.by("person").approve(proposal.id).retention == "active"


# Scopes

WIDER: dict[str, dict[str, str]] = {"root": {}, "project": {"project": "p"}, "user": {"user": "u"}}


@pytest.mark.parametrize("place", WIDER)
def test_a_purge_holds_in_the_scopes_that_are_seen_with_it(place: str, mem: Memotherm) -> None:
    """An agent can neither store it there nor move it there, nor capture it; a person can store it."""
    narrow, wide = mem.scoped(project="p", user="u"), mem.scoped(**WIDER[place])
    narrow.by("person").purge(narrow.remember(OLD).id)
    moved = mem.scoped(project="p", user="u2", session="s").remember(OLD) if place != "user" else None
    with pytest.raises(Forbidden, match="only a person"):
        wide.remember(f"Note: {OLD}")
    if moved is not None:
        with pytest.raises(Forbidden, match="only a person"):
            mem.scoped(project="p", user="u2", session="s").rescope(moved.id, WIDER[place])
    assert "[forgotten]" in wide.capture(f"He said: {OLD}, and {PAGE}").memory.content  # type: ignore[union-attr]
    assert not has_it(narrow)
    wide.by("person").remember(OLD)
    assert has_it(narrow)


@pytest.mark.parametrize(
    "spelling",
    [
        "\u3164".join,
        lambda text: text.translate(str.maketrans("anphoeumbris", "ᴀɴᴘʜᴏᴇᴜᴍʙʀɪꜱ")),
        lambda text: text.replace("0177 X", "0177 Х"),
        lambda text: text.replace("is", "іѕ"),
    ],
    ids=["filler of Hangul", "small capitals", "a Cyrillic letter alone", "a Cyrillic word"],
)
def test_letters_that_look_alike_are_the_same(spelling: Callable[[str], str], mem: Memotherm) -> None:
    """Also in a word that has no Latin letter, and with invisible characters that count as letters."""
    mem.by("person").purge(mem.remember(f"{OLD} X").id)
    with pytest.raises(Forbidden, match="only a person"):
        mem.remember(spelling(f"{OLD} X"))


def test_a_purge_of_one_project_concerns_no_other_and_no_tenant(mem: Memotherm) -> None:
    """Nothing is refused where the purging scope sees nothing, so a refusal tells nothing about others."""
    narrow = mem.scoped(tenant="a", project="p", user="u")
    narrow.by("person").purge(narrow.remember(OLD).id)
    for other in (
        {"tenant": "a", "project": "q"},
        {"tenant": "a", "user": "v"},
        {"tenant": "b", "project": "p", "user": "u"},
        {"tenant": "b"},
        {},
    ):
        assert mem.scoped(**other).remember(OLD).content == OLD, other
        assert mem.scoped(**other).capture(f"They said: {OLD}").memory.content.endswith(OLD), other  # type: ignore[union-attr]


def test_a_word_that_was_forgotten_may_be_a_tag(mem: Memotherm) -> None:
    """Only what says more than a word is kept out of the fields."""
    person = mem.by("person")
    for word in ("deployment", "tea", "agent", "tea time"):
        person.forget(person.remember(word).id)
    stored = mem.remember(PAGE, tags=["deployment", "tea"], metadata={"topic": "tea time"}, kind="deployment")
    assert (stored.tags, stored.source) == (("deployment", "tea"), "agent")


# Reasons

#: The calls of an agent that take a reason, with the memory that they concern.
REASONS: dict[str, Callable[[Memotherm, str, str], object]] = {
    "update": lambda mem, it, why: mem.update(it, tags=["sea"], why=why),
    "amend": lambda mem, it, why: mem.amend(it, "The ferry leaves at ten", why=why),
    "move": lambda mem, it, why: mem.move(it, "cold", why=why),
    "move to a priority": lambda mem, it, why: mem.move(it, "low", why=why),
    "prioritize": lambda mem, it, why: mem.prioritize(it, "low", why=why),
    "pin": lambda mem, it, why: mem.pin(it, why=why),
    "verify": lambda mem, it, why: mem.verify(it, why=why),
    "archive": lambda mem, it, why: mem.archive(it, why=why),
    "forget": lambda mem, it, why: mem.forget(it, why=why),
    "purge": lambda mem, it, why: mem.purge(it, why=why),
    "finish": lambda mem, it, why: mem.finish(it, why=why),
    "rescope": lambda mem, it, why: mem.rescope(it, {"project": "p"}, why=why),
    "decide": lambda mem, it, why: mem.decide(mem.remember("The ferry leaves at ten").id, over=[it], why=why),
    "remember_many": lambda mem, it, why: mem.remember_many([{"content": "Boats"}], forget=[it], why=why),
    "forget many": lambda mem, it, why: mem.bulk.forget(ids=[it], why=why),
    "cool": lambda mem, it, why: mem.bulk.cool(why=why),
    "tool": lambda mem, it, why: call(mem, "memory_amend", {"memory_id": it, "content": "The ferry swims", "why": why}),
}


@pytest.mark.parametrize("verb", REASONS)
def test_a_reason_of_an_agent_says_nothing_that_was_purged(verb: str, mem: Memotherm) -> None:
    """Neither alone nor in a sentence; nothing is changed. A person may give that reason."""
    mem = mem.scoped(project="p", user="u")
    person, it = mem.by("person"), mem.remember(PAGE, kind="task").id
    for said in (OLD, f"the password is {PASSWORD}"):
        person.purge(person.remember(said).id)
    version = mem.get(it).version
    for why in (OLD, f"Ben says that {OLD.upper()}, so it goes", PASSWORD, f"someone used {PASSWORD} here"):
        with pytest.raises(Forbidden, match="only a person can store it again") as refused:
            REASONS[verb](mem, it, why)
        assert "roub4dor" not in str(refused.value)
    assert mem.get(it).version == version
    REASONS[verb](mem, it, "outdated")


def test_a_request_of_an_agent_cannot_give_a_purged_reason(mem: Memotherm) -> None:
    """It is refused, and the ledger does not show it; a person may give it."""
    person, it = mem.by("person"), mem.remember(PAGE).id
    person.purge(person.remember(OLD).id)
    assert requested(mem, f"/memories/{it}/archive", why=f"see {OLD}") == 403
    assert "0177" not in str(TestClient(application(mem), base_url="http://127.0.0.1:8077").get("/events").json())
    assert person.archive(it, why=f"see {OLD}").retention == "archived"


def test_a_reason_may_be_a_word_that_was_forgotten_and_what_another_project_has_purged(mem: Memotherm) -> None:
    """As for the fields of a memory; the scope of the caller decides."""
    person, other = mem.by("person"), mem.scoped(project="q").by("person")
    person.forget(person.remember("outdated").id)
    other.purge(other.remember(OLD).id)
    here = mem.scoped(project="p")
    assert here.forget(here.remember(PAGE).id, why="outdated").retention == "deleted"
    assert here.archive(here.remember(f"{PAGE} sharp").id, why=OLD).retention == "archived"


def test_a_task_ends_without_the_reason_that_was_purged(mem: Memotherm) -> None:
    """A server that takes the words of a user from an agent closes the task all the same."""
    mem.by("person").purge(mem.remember(f"the password is {PASSWORD}").id)
    task = mem.remember("TODO: rotate the password of the staging db", kind="task")
    apply_reports(mem, f"Done: the password of the staging db is rotated to {PASSWORD}", datetime.now(UTC))
    assert mem.get(task.id).metadata["status"] == "done"
    assert not any(PASSWORD in event.why for event in mem.events())


# Cost


def planted(mem: Memotherm, count: int) -> None:
    """Forget one repeated word in many lengths: passages of every length begin alike."""
    for memory in mem.remember_many([{"content": "a " * (12 + number)} for number in range(count)]):
        mem.forget(memory.id)


@pytest.mark.slow
@pytest.mark.sqlite
def test_the_cost_of_a_check_grows_with_the_text_alone(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """8 times the text takes at most 12 times as long, although hundreds of forgotten passages begin alike."""
    mem = open_mem(tmp_path / "memory.db")
    planted(mem, 200)
    numbers = itertools.count()

    def cost(repeats: int) -> float:
        """Return the least CPU time to capture a text that repeats the word, but has none of the passages."""
        times = []
        for _ in range(5):
            text = f"{next(numbers)} {repeats} " + f"{'a ' * 11}b " * repeats
            began = time.thread_time()
            captured = mem.capture(text)
            times.append(time.thread_time() - began)
            assert captured.memory is not None
            assert "[forgotten]" not in captured.memory.content
        return min(times)

    assert is_linear(cost, 40)


def test_a_text_of_one_repeated_word_is_found_whole(mem: Memotherm) -> None:
    """Passages that overlap are one."""
    planted(mem, 30)
    captured = mem.capture("b " + "a " * 5000 + "Ana likes tea").memory
    assert captured is not None
    assert captured.content == "b [forgotten] Ana likes tea"
    captured = mem.capture("a " * 11 + "Ben lives in Rome").memory
    assert captured is not None
    assert captured.content == "a " * 11 + "Ben lives in Rome"


HOSTILE = (
    "a ", "Ana lives. ", "a.", "a\n", "`a", "[a](", "<a ", "**a", "__a", "é", "a\u0301", "Аnа ", "กข", "٠ ", "1-",
)  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE)
def test_a_text_is_spelled_in_linear_time(unit: str) -> None:
    """8 kB take at most 12 times as long as 1 kB, whatever they repeat."""

    def cost(size: int) -> float:
        text = (unit * size)[:size]
        times = []
        for _ in range(7):
            began = time.thread_time()
            said = spelled(text)
            statements_of(text, said)
            RollingHash(said.joined, (3, 5))
            times.append(time.thread_time() - began)
        return min(times)

    # Beyond the texts whose ends of sentences are cached.
    assert is_linear(cost, 1100)


# Secrets

SECRETS = {
    "a password": f"password for the staging db is {PASSWORD}",
    "a password in a URL": f"postgres://app:{PASSWORD}@db.example.org/x",
    "a password in metadata": {"content": "the staging db", "metadata": {"password": PASSWORD}},
}


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("by", ["agent", "person"])
def test_the_value_of_a_purged_secret_does_not_come_back(secret: str, by: str, mem: Memotherm, tmp_path: Path) -> None:
    """In no other sentence and on no path, whoever has purged it; only a person stores it again."""
    given = SECRETS[secret]
    stored = mem.remember(**given) if isinstance(given, dict) else mem.remember(given)  # type: ignore[arg-type]
    mem.by(by).purge(stored.id)
    for text in (f"use {PASSWORD} when you connect", f"curl -u app:{PASSWORD.upper()} x", "heron Tr0ub4dor 3"):
        with pytest.raises(Forbidden) as refused:
            mem.remember(text)
        assert "roub4dor" not in str(refused.value)
    for fields in ({"tags": [PASSWORD]}, {"metadata": {"login": PASSWORD}}, {"source": PASSWORD}, {"key": PASSWORD}):
        with pytest.raises(Forbidden):
            mem.remember(PAGE, **fields)
    said = mem.capture(f"use {PASSWORD} when you connect to the ferry")
    assert said.memory.content == "use [forgotten] when you connect to the ferry"  # type: ignore[union-attr]
    imported(mem, tmp_path, content=f"take {PASSWORD} to log in")
    mem.session("s").add(f"so {PASSWORD} it is")
    assert not has_it(mem)
    assert not has_it(mem.scoped(session="s"))
    again = mem.by("person").remember(f"use {PASSWORD} when you connect")
    assert mem.remember(f"use {PASSWORD} when you connect").id == again.id


@pytest.mark.parametrize("value", ["hunter2", "Pa$$word", "sk-proj-4f9aQ2ZtXw8LrB71kd93mN", "2fA9-77Qx"])
def test_short_values_and_keys_are_recognized(value: str, mem: Memotherm) -> None:
    """But not the words that they are made of."""
    mem.purge(mem.remember(f"password: {value}").id)
    with pytest.raises(Forbidden):
        mem.remember(f"try {value} first")
    assert mem.remember("the hunter has 2 words to pass, fa and qx")


def test_a_password_that_is_a_word_does_not_forbid_the_word(mem: Memotherm) -> None:
    """It cannot be told from the word."""
    mem.purge(mem.remember("password: green!!").id)
    assert mem.remember("the door is green")


@pytest.mark.sqlite
@pytest.mark.parametrize("way", ["contains", "mentions", "request"])
def test_a_value_that_a_purge_is_selected_by_does_not_come_back(
    way: str, open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """Although nothing beside it says that it is a secret; the ledger does not quote it."""
    mem = open_mem(tmp_path / "memory.db")
    mem.remember(f"use {PASSWORD} when you connect")
    mem.remember(PAGE)
    words = ["select", PASSWORD, "--purge"] if way == "request" else ["purge", f"--{way}", PASSWORD]
    assert run([*words, "--yes", "--store", str(tmp_path / "memory.db")]) == 0
    with pytest.raises(Forbidden):
        mem.remember(f"log in with {PASSWORD}")
    assert len(mem.find()) == 1
    assert PASSWORD not in str(mem.events())
    mem.bulk.purge(contains="ferry")
    assert mem.remember("a ferry to Ischia")


def test_a_user_pattern_names_a_secret(open_mem: Callable[..., Memotherm], tmp_path: Path) -> None:
    """Its value is purged like the others."""
    mem = open_mem(tmp_path / "memory.db", settings={"redact_patterns": ["ACME-[A-Z0-9]{8,16}"]})
    mem.purge(mem.remember("the licence of Ana is ACME-12AB34CD").id)
    with pytest.raises(Forbidden):
        mem.remember("type acme-12ab34cd into the form")


def test_a_secret_that_was_removed_because_of_its_age_may_be_stored_again(
    open_mem: Callable[..., Memotherm], tmp_path: Path, clock: Any
) -> None:
    """Nobody has asked for its removal."""
    mem = open_mem(tmp_path / "memory.db")
    mem.remember(f"password: {PASSWORD}", ttl="1d")
    for _ in range(3):
        clock.advance(days=20)
        mem.maintain()
    assert mem.find(retention="purged")
    assert mem.remember(f"use {PASSWORD} until tomorrow")


def test_a_session_keeps_no_purged_secret_in_its_fields(mem: Memotherm) -> None:
    """A value, the name of a value, and one beside other words; the rest is added."""
    mem.by("person").purge(mem.remember(f"the password is {PASSWORD}").id)
    added = mem.session("s1").add(PAGE, metadata={"said": [f"use {PASSWORD} here"], PASSWORD: 1, "page": 7})
    assert added.metadata == {"said": ["use [forgotten] here"], "page": 7}
    assert mem.session("s1").add(f"use {PASSWORD} here").content == "use [forgotten] here"
