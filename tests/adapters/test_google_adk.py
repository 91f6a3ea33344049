"""The memory service of the Google ADK: the cases of its own services, and marks of deleted events."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai.types import Content, Part

from memotherm import InvalidInput, Memotherm
from memotherm.adapters.google_adk import MemothermMemoryService
from memotherm.testing import FakeClock

pytestmark = pytest.mark.sqlite


def said(event_id: str, text: str, author: str = "user", **arguments: Any) -> Event:
    content = Content(parts=[Part(text=text)] if text else [])
    return Event(id=event_id, author=author, timestamp=1_700_000_000.0, content=content, **arguments)


def a_session(*events: Event, user: str = "ada", session_id: str = "s1") -> Session:
    return Session(app_name="app", user_id=user, id=session_id, last_update_time=1, events=list(events))


def found(service: MemothermMemoryService, query: str, user: str = "ada") -> list[MemoryEntry]:
    return list(asyncio.run(service.search_memory(app_name="app", user_id=user, query=query)).memories)


def test_a_session_may_be_added_many_times_and_users_are_apart(mem: Memotherm) -> None:
    """Events are stored once, with author and time; events without text are left out."""
    service = MemothermMemoryService(memory=mem)
    first, second = said("e1", "The port of staging is 5544"), said("e2", "Staging is in Oslo", "model")
    for session in (a_session(first, said("e0", "")), a_session(first, second), a_session(first, second)):
        asyncio.run(service.add_session_to_memory(session))
    entries = found(service, "port of staging")
    assert sorted(str(entry.id) for entry in entries) == ["e1", "e2"]
    assert entries[0].author == "user"
    assert entries[0].timestamp == "2023-11-14T22:13:20+00:00"
    assert found(service, "port of staging", user="bob") == []
    assert found(service, " ") == []


def test_a_deleted_event_stays_deleted(mem: Memotherm, clock: FakeClock) -> None:
    """Adding its session again does not bring it back, even after the deletion is final."""
    service = MemothermMemoryService(memory=mem)
    session = a_session(said("e1", "The port of staging is 5544"), said("", "Staging is in Oslo"))
    asyncio.run(service.add_session_to_memory(session))
    unnamed = next(entry.id for entry in found(service, "staging") if entry.id != "e1")
    for memory_id in ("e1", unnamed, "unknown", None):
        asyncio.run(service.delete_memory(app_name="app", user_id="ada", memory_id=memory_id))
    asyncio.run(service.delete_memory(app_name="app", user_id="bob", memory_id="e1"))
    asyncio.run(service.add_session_to_memory(session))
    assert found(service, "staging") == []
    mem.scoped(project="app", user="ada").bulk.purge(prefix="google-adk/events/")
    asyncio.run(service.add_session_to_memory(session))
    assert found(service, "staging") == []


def test_more_than_ten_memories_are_cut_and_direct_writes_are_all_or_nothing(mem: Memotherm) -> None:
    """Events of one call and facts are one transaction each."""
    service = MemothermMemoryService(memory=mem)
    events = [said(f"e{number}", f"Ticket {number} is about staging") for number in range(12)]
    asyncio.run(service.add_events_to_memory(app_name="app", user_id="ada", events=events, session_id="s"))
    assert len(found(service, "tickets about staging")) == 10
    facts = [MemoryEntry(content=Content(parts=[Part(text=text)])) for text in ("Oslo is cold", "")]
    with pytest.raises(InvalidInput, match="content"):
        asyncio.run(service.add_memory(app_name="app", user_id="ada", memories=facts))
    assert not any("Oslo" in str(entry.content) for entry in found(service, "Oslo"))
    asyncio.run(service.add_memory(app_name="app", user_id="ada", memories=facts[:1]))
    fact = next(entry for entry in found(service, "Oslo is cold") if "Oslo" in str(entry.content))
    asyncio.run(service.delete_memory(app_name="app", user_id="ada", memory_id=fact.id))
    assert not any("Oslo" in str(entry.content) for entry in found(service, "Oslo is cold"))


def test_an_entry_has_its_metadata_and_the_thoughts_of_a_model_are_left_out(mem: Memotherm) -> None:
    """Names in the metadata of a caller change neither the id nor the time of an entry."""
    service = MemothermMemoryService(memory=mem)
    parts = [Part(text="The user wants the port", thought=True), Part(text="The port of staging is 5544")]
    event = Event(id="e1", author="model", timestamp=1_700_000_000.0, content=Content(parts=parts))
    asyncio.run(service.add_session_to_memory(a_session(event)))
    (entry,) = found(service, "port of staging")
    assert [part.text for part in entry.content.parts or []] == ["The port of staging is 5544"]
    assert {"session_id": "s1", "event_id": "e1"}.items() <= entry.custom_metadata.items()

    fact = MemoryEntry(
        content=Content(parts=[Part(text="The launch is in Oslo")]),
        custom_metadata={"event": "launch", "said_at": 5},
        timestamp="2026-01-31T09:00:00",
    )
    asyncio.run(service.add_memory(app_name="app", user_id="ada", memories=[fact]))
    stored = next(entry for entry in found(service, "launch in Oslo") if "Oslo" in str(entry.content))
    assert (stored.timestamp, stored.custom_metadata["event"]) == ("2026-01-31T09:00:00", "launch")
    asyncio.run(service.delete_memory(app_name="app", user_id="ada", memory_id=stored.id))
    assert not any("Oslo" in str(entry.content) for entry in found(service, "launch in Oslo"))


def test_an_event_is_deleted_from_all_sessions_that_have_it(mem: Memotherm) -> None:
    """Sessions that were copied have events with the same ids."""
    service = MemothermMemoryService(memory=mem)
    for session_id in ("s1", "s2"):
        asyncio.run(
            service.add_session_to_memory(a_session(said("e1", "The port of staging is 5544"), session_id=session_id))
        )
    asyncio.run(service.delete_memory(app_name="app", user_id="ada", memory_id="e1"))
    assert found(service, "port of staging") == []


def test_the_registry_builds_it_from_a_uri(tmp_path: Path) -> None:
    """`memotherm:///path` names a file, as the services file of the ADK does."""
    from google.adk.cli.service_registry import ServiceRegistry

    registry = ServiceRegistry()
    registry.register_memory_service("memotherm", lambda uri, **options: MemothermMemoryService(uri=uri, **options))
    service = registry.create_memory_service(f"memotherm:///{tmp_path}/agent.db", agents_dir="agents")
    assert isinstance(service, MemothermMemoryService)
    asyncio.run(service.add_session_to_memory(a_session(said("e1", "The port of staging is 5544"))))
    asyncio.run(service.close())
    assert (tmp_path / "agent.db").exists()
