"""What a person has purged is no name either: of a file of notes, a scope, an actor; nor divided between fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from memotherm import Memotherm
from memotherm.errors import Forbidden
from memotherm.model.memory import SCOPE_FIELDS
from memotherm.rest.app import application

OLD = "Ana's phone number is 650-555-0177"
PASSWORD = "heron-Tr0ub4dor&3"
PAGE = "The ferry to Capri leaves at nine"
NAMES = (OLD, "anas-phone-number-is-650-555-0177", f"notes of {PASSWORD}")


@pytest.fixture
def purged(mem: Memotherm) -> Memotherm:
    """Return a memory in which a person has purged a phone number and a password."""
    person = mem.by("person")
    for text in (OLD, f"the password is {PASSWORD}"):
        person.purge(person.remember(text).id)
    return mem


@pytest.mark.parametrize("field", [name for name in SCOPE_FIELDS if name != "tenant"])
def test_no_scope_has_a_purged_text_as_its_name(field: str, purged: Memotherm) -> None:
    """Nothing can be stored in it; a context does without its receipt."""
    there = purged.remember(PAGE)
    for name in NAMES:
        narrow = purged.scoped(**{field: name})
        with pytest.raises(Forbidden):
            narrow.remember("Boats swim")
        with pytest.raises(Forbidden):
            narrow.capture("Ben rows to the island on Sundays")
        with pytest.raises(Forbidden):
            narrow.session(name if field == "session" else "s").add("Boats")
        assert PAGE in narrow.context(PAGE).text
        with pytest.raises(Forbidden):
            purged.rescope(there.id, {field: name})
        assert name not in f"{purged.events()} {purged.inspect.scopes()}"


def test_no_actor_has_a_purged_text_as_its_name(purged: Memotherm) -> None:
    """The ledger names the actor of every change; a person may have any name."""
    it = purged.remember(PAGE)
    for name in NAMES:
        for actor in (purged.by("agent", name), purged.scoped(agent=name), purged.scoped(user=name)):
            with pytest.raises(Forbidden):
                actor.archive(it.id)
    assert purged.by("agent", "claude-code 2").archive(it.id)
    assert purged.by("person", OLD).restore(it.id)


def test_a_word_or_a_known_name_may_be_the_name_of_a_scope(mem: Memotherm) -> None:
    """A forgotten word; a project that was there before."""
    known = mem.scoped(project="anas-phone-number-is-650-555-0177")
    known.remember(PAGE)
    person = mem.by("person")
    for word in (OLD, "payments"):
        person.purge(person.remember(word).id)
    assert known.remember("Boats swim")
    assert mem.scoped(project="payments", agent="payments").remember(PAGE)


def test_a_file_of_notes_with_a_purged_name_is_not_shown(purged: Memotherm, tmp_path: Path) -> None:
    """Neither a new one, nor one that is given such a name; the answer of the sync does not say it."""
    folder = tmp_path / "memory"
    folder.mkdir()
    (folder / "MEMORY.md").write_text(f"- {PAGE}\n")
    (folder / "ferry.md").write_text(f"- {PAGE} sharp\n")
    notes = purged.notes(tmp_path)
    notes.sync()
    assert len(notes.search(PAGE)) == 2
    (folder / "ferry.md").rename(folder / f"{OLD}.md")
    (folder / "anas-phone-number-is-650-555-0177.md").write_text(f"- {PAGE} again\n")
    synced = notes.sync()
    assert {each.path for each in synced.skipped} == {"[forgotten].md"}
    shown = f"{synced} {notes.search(PAGE)} {notes.paths()} {purged.context(PAGE).text} {purged.events()}"
    assert "0177" not in shown
    assert len(notes.search(PAGE)) == 1


def test_an_agent_appends_no_purged_text_to_a_note(purged: Memotherm, tmp_path: Path) -> None:
    """The file stays as it is; nor is it copied to the curated note."""
    notes = purged.notes(tmp_path)
    for text in (OLD, f"- log in with {PASSWORD}"):
        with pytest.raises(Forbidden):
            notes.append(text, "2026-01-05")
    assert not list(tmp_path.rglob("*.md"))
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory" / "2026-01-05.md").write_text(f"- {OLD}\n")
    with pytest.raises(Forbidden):
        notes.curate("memory/2026-01-05.md")
    assert purged.by("person").notes(tmp_path).append(OLD).written


DIVIDED: dict[str, dict[str, Any]] = {
    "tags": {"tags": ["Ana's phone number is", "650 555 0177"]},
    "metadata": {"metadata": {"a": "Ana's phone number is", "b": "650 555 0177"}},
}


@pytest.mark.parametrize("fields", DIVIDED)
@pytest.mark.parametrize("way", ["capture", "import"])
def test_a_purged_text_is_not_divided_between_fields(way: str, fields: str, purged: Memotherm, tmp_path: Path) -> None:
    """What is stored unasked is stored without them."""
    if way == "capture":
        assert purged.capture(PAGE, **DIVIDED[fields]).memory
    else:
        (tmp_path / "other.jsonl").write_text(json.dumps({"content": PAGE, **DIVIDED[fields]}))
        purged.store.import_("jsonl", tmp_path / "other.jsonl")
    (stored,) = purged.find()
    assert (stored.content, stored.tags, stored.metadata) == (PAGE, (), {})


def test_requests_cannot_use_a_purged_name(purged: Memotherm) -> None:
    """The headers of a request name its scope."""
    client = TestClient(application(purged), base_url="http://127.0.0.1:8077")
    answer = client.post("/memories", json={"content": PAGE}, headers={"Memotherm-Scope": f"project={quote(OLD)}"})
    assert answer.status_code == 403
    assert client.post(f"/sessions/{NAMES[1]}/memories", json={"content": PAGE}).status_code == 403
