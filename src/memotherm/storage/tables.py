"""What the tables of every store hold, for copying one store into another."""

from __future__ import annotations

from typing import NamedTuple

from memotherm.storage.rows import COLUMNS

__all__ = ["META", "SPACES", "TABLES", "TOMBSTONES", "VECTORS", "Table"]


class Table(NamedTuple):
    """A table as both databases have it; the tenant of a row is not among its columns."""

    name: str
    #: The primary key; rows are read in its order.
    key: tuple[str, ...]
    columns: tuple[str, ...]
    #: The column that leads to the tenant: space, no (a memory) or note; empty = the rows belong to the store.
    owner: str = ""


def _table(name: str, key: str, rest: str = "", owner: str = "") -> Table:
    return Table(name, tuple(key.split()), (*key.split(), *rest.split()), owner)


#: Vectors with the space and tier of their memory; tier 3 = not active.
VECTORS = _table("vectors", "embedder no part", "space tier vector", "no")

SPACES = _table("spaces", "space", "project environment user_ agent session collection", "space")
TOMBSTONES = _table("tombstones", "mark space", "at", "space")

#: In an order in which nothing points to what is not there yet.
TABLES = (
    _table("embedders", "number", "name dimensions"),
    SPACES,
    Table("memories", ("no",), COLUMNS, "space"),
    _table("tags", "no tag", owner="no"),
    _table("turns", "no", "space thread author previous", "space"),
    VECTORS,
    _table("events", "seq", "at no action actor rule why changes policy", "no"),
    TOMBSTONES,
    _table(
        "recalls",
        "recall",
        "id at space query tiers micros best candidates returned promoted degraded options",
        "space",
    ),
    _table("uses", "recall no strength", "space at", "space"),
    _table("receipts", "receipt", "at space query budget tokens format entries", "space"),
    _table("sessions", "space", "state started_at changed_at", "space"),
    _table("tallies", "space name", "times amount", "space"),
    _table("roots", "space", "path extra", "space"),
    _table("notes", "note", "space path hash stamp size messages settled cut tier", "space"),
    _table("chunks", "note position", "no first last heading digest linked", "note"),
    _table("flushes", "space", "cycle armed", "space"),
    _table("injected", "space no", "updated_at", "space"),
    _table("adoptions", "seq", "at actor action name hash document"),
    _table("shadow_tiers", "no policy", "tier rule since", "no"),
    _table("key_values", "namespace key", "value expires_at"),
)

#: Metadata that is copied too: the serving embedder and the secret of the tombstones.
META = ("embedder", "secret")
