"""What one tenant may do to what belongs to all of them: read it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.errors import InvalidInput
from memotherm.testing import HashEmbedder


def test_a_tenant_reads_and_does_not_change_what_belongs_to_everybody(mem: Memotherm) -> None:
    """A memory without a tenant is found from inside one, and can be neither moved, pinned, forgotten nor undone."""
    shared = mem.remember("The status page is at status.example", tags=["blocker"])
    tenant = mem.scoped(tenant="acme")

    assert [hit.memory.id for hit in tenant.recall("status page")] == [shared.id]
    for change in (
        lambda: tenant.move(shared.id, "cold"),
        lambda: tenant.pin(shared.id),
        lambda: tenant.forget(shared.id),
        lambda: tenant.purge(shared.id),
        lambda: tenant.update(shared.id, content="elsewhere"),
        lambda: tenant.undo(mem.history(shared.id)[-1].seq),
        lambda: tenant.remember("The status page moved", supersedes=shared.id),
    ):
        with pytest.raises(InvalidInput, match="read-only"):
            change()
    assert tenant.compact().moves == ()
    assert mem.get(shared.id) == shared or mem.get(shared.id).content == shared.content


def test_who_has_no_tenant_goes_on_as_before(mem: Memotherm) -> None:
    """Within one tenant, and where there are none, whoever sees a memory may change it."""
    project = mem.scoped(tenant="acme", project="web")
    memory = mem.scoped(tenant="acme").remember("The build is broken", tags=["blocker"])

    assert project.move(memory.id, "cold").id == memory.id
    assert [move.id for move in project.compact().moves] == [memory.id]


def test_one_tenant_does_not_learn_from_the_time_of_a_call_what_another_has(
    open_mem: Callable[..., Memotherm], tmp_path: Path
) -> None:
    """Vectors of contents and queries are made again for each tenant, and only once for the same one."""
    embedder = HashEmbedder(record=True)
    mem = open_mem(tmp_path / "memory.db", embedder=embedder)
    for tenant in ("acme", "globex", "acme", "globex"):
        seen = mem.scoped(tenant=tenant)
        seen.remember("The merger is on Monday", kind="fact", metadata={"tenant": tenant}, tags=[tenant])
        seen.recall("when is the merger?")
    mem.scoped(tenant="acme", user="ana").remember("The merger is on Monday")

    assert embedder.texts.count("The merger is on Monday") == 2
    assert embedder.texts.count("when is the merger?") == 2
