"""Public values can be compared, hashed, copied, pickled, and printed in one line."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

import memotherm.context
import memotherm.model
import memotherm.model.results
import memotherm.notes.flush
import memotherm.notes.imports
import memotherm.notes.values
from memotherm import Memory, Memotherm, Scope, Tier
from memotherm.model import Why
from memotherm.model.results import Suggestion

MODULES = (
    *(memotherm.model, memotherm.model.results, memotherm.context),
    *(memotherm.notes.flush, memotherm.notes.imports, memotherm.notes.values),
)
CLASSES = {
    name
    for module in MODULES
    for name, value in vars(module).items()
    if dataclasses.is_dataclass(value) and name in getattr(module, "__all__", (name,))
}
_LONG = "An otter sleeps on its back.\nIt holds hands, so that it does not drift away from the raft. " * 20


def values(mem: Memotherm, folder: Path) -> list[object]:
    """Return at least one value of every public class, as the facade returns it."""
    stored = mem.remember(_LONG, metadata={"nested": {"list": [1]}}, tags=["otter"])
    for number in range(60):
        mem.remember(f"otter number {number} holds hands", tier="hot")
    session = mem.session("s1")
    messages = [session.add(f"message {number} about otters") for number in range(8)]
    recall = mem.recall("otters", limit=20)
    context = mem.context("otters", budget=200)
    moved = mem.move(stored.id, "cold", why=_LONG)
    (folder / "MEMORY.md").write_text("# Otters\n\n- otters swim\n", "utf-8")
    notes = mem.notes(folder)
    synced = notes.sync()
    item = notes.append("otters dive")
    results = notes.search("otters", min_score=0)
    mem.remember_many([{"content": f"The staging database listens on port {port}"} for port in (5433, 5544)])
    skipped = memotherm.notes.values.Skipped(path="a.md", why="a symbolic link")
    imported = mem.scoped(user="bo").store.import_("openclaw", folder)
    return [
        *(stored, stored.scope, moved, recall, recall[0], recall[0].why, context, context.receipt),
        *(context.included[0], context.left_out[0], mem.find(), mem.events(), mem.events().events[0]),
        *(mem.status(), mem.status().tiers[stored.tier], mem.metrics(), mem.capture("otters float on the river")),
        *(session.status(), session.spill(ids=[messages[0].id]), mem.compact(dry_run=True), mem.maintain()),
        *(
            mem.bulk.cool(),
            mem.bulk.undo([moved.version]),
            memotherm.model.results.SkippedEvent(seq=1, id=stored.id, why=_LONG),
        ),
        *(Suggestion(type="spill", reason=_LONG), memotherm.model.results.Problem(code="digest", detail=_LONG)),
        memotherm.model.Move(id=stored.id, from_tier=stored.tier, to=moved.tier, rule="explicit", why=_LONG),
        *(synced, item, results, results[0], notes.get("MEMORY.md"), skipped, mem.conflicts()[0]),
        *(session.flush_due(190_000), imported, imported.entries[0]),
        *(
            mem.select("otter number 3"),
            mem.select("otter number 3").matches[0],
            mem.inspect.scopes()[0],
            memotherm.model.results.Adoption(at=stored.created_at, actor="ana", action="adopt", name=_LONG, hash="1f"),
            mem.metrics().live_recalls,
            mem.inspect.heat(stored.id),
            mem.inspect.uses(stored.id),
            mem.inspect.tier_history(since="1d", points=2)[0],
            mem.inspect.timeline()[0],
            memotherm.model.reports.Batch(name="backfill-1", at=stored.created_at, stored=2, left=1),
            mem.inspect.everything(),
            mem.inspect.everything().recalls[0],
            mem.scoped(user="ana").erase(),
            notes.curate(notes.append("otters swim far").path, dry_run=True),
        ),
    ]


def test_every_public_value_is_plain(mem: Memotherm, tmp_path: Path) -> None:
    """It is frozen; a copy and an unpickled value are equal and have the same hash; `repr` is one short line."""
    (tmp_path / "notes").mkdir()
    found = values(mem, tmp_path / "notes")

    assert CLASSES - {type(value).__name__ for value in found} == set()
    for value in found:
        assert dataclasses.is_dataclass(value)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, dataclasses.fields(value)[0].name, None)
        for twin in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)):
            assert twin == value
            assert hash(twin) == hash(value)
            assert repr(twin) == repr(value)
        assert "\n" not in repr(value)
        assert len(repr(value)) <= 500, repr(value)


def test_a_value_that_was_pickled_before_it_was_read_is_complete(mem: Memotherm) -> None:
    """What was left out of a context and the parts of scores are part of the pickle."""
    for number in range(20):
        mem.remember(f"otter number {number} holds hands")

    unread, read = (mem.context("otters", budget=120, track=False) for _ in range(2))
    unpickled = pickle.loads(pickle.dumps(unread))

    assert read.left_out
    assert [entry.why for entry in unpickled.left_out] == [entry.why for entry in read.left_out]
    assert unpickled == read
    assert unpickled.receipt.as_json() == read.receipt.as_json()


def test_values_that_differ_are_not_equal(a_memory: Callable[..., Memory]) -> None:
    """Equality compares every field, metadata included; the hash is that of the id and the version."""
    memory = a_memory("otters swim", metadata={"a": 1})

    assert memory != dataclasses.replace(memory, metadata={"a": 2})
    assert len({memory, a_memory("otters swim", metadata={"a": 1})}) == 1
    assert len({memory, dataclasses.replace(memory, version=2)}) == 2


def test_a_memory_prints_its_id_axes_and_first_words(a_memory: Callable[..., Memory]) -> None:
    """The rest is left out, and a long content is shortened."""
    assert repr(a_memory(_LONG)) == (
        "Memory(id='mem_1', content='An otter sleeps on its back.\\nIt holds hands, so…', kind='fact', tier='warm', "
        "priority='normal', retention='active', scope=Scope())"
    )


def test_a_memory_is_shown_as_plain_values_and_as_escaped_html(a_memory: Callable[..., Memory]) -> None:
    """`as_dict` can be dumped as JSON; HTML in a content stays text; printing takes one line."""
    memory = a_memory("<b>An otter</b>\n& a badger", tags=("<i>",), scope=Scope(user="ana"), tier=Tier.HOT)

    values = json.loads(json.dumps(memory.as_dict()))
    assert (values["content"], values["tags"], values["scope"], values["tier"]) == (
        memory.content,
        ["<i>"],
        {"user": "ana"},
        "hot",
    )
    html = memory._repr_html_()
    assert "&lt;b&gt;An otter&lt;/b&gt;" in html
    assert "<b>" not in html
    assert "<i>" not in html
    assert len(str(memory).splitlines()) == 1


def test_the_parts_of_a_score_are_shown_by_name_in_their_order() -> None:
    """None is missing."""
    why = Why(vector=0.5, author=True, version="newer")
    assert list(why.as_dict().items()) == list(dataclasses.asdict(why).items())
