"""The kinds of events, and the words for them."""

from __future__ import annotations

import json

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from memotherm import Memotherm
from memotherm.dashboard import routes
from memotherm.model.actions import Action


@pytest.mark.sqlite
def test_the_dashboard_has_words_for_every_kind_of_event() -> None:
    """The server writes those of the kinds that it knows into the page, so that no second table can lack one."""
    with TestClient(Starlette(routes=routes())) as client:
        page = client.get("/").text

    words = json.loads(page.partition('id="words">')[2].partition("</script>")[0])["DONE"]
    assert words == {action.value: action.done for action in Action}
    assert all(words.values())
    assert len(set(words.values())) == len(Action)


def test_an_event_has_the_kind_of_its_verb(mem: Memotherm) -> None:
    """As a text, in the ledger as on the wire."""
    memory = mem.remember("we use SQLite", kind="decision", metadata={"status": "done"})
    mem.compact()
    mem.prioritize(memory.id, "critical")
    mem.forget(memory.id)
    mem.restore(memory.id)
    mem.policies.adopt("coding-agent")

    actions = [event.action for event in mem.events(oldest_first=True).events]

    kinds = (Action.REMEMBER, Action.MOVE, Action.PRIORITIZE, Action.FORGET, Action.RESTORE, Action.ADOPT)
    assert actions == list(kinds)
    assert all(type(action) is str for action in actions)
    assert [len(mem.events(action=kind).events) for kind in kinds] == [1] * len(kinds)
