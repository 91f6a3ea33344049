"""Which rows the statements of a PostgreSQL store read and change, on one server and on a cluster.

On a cluster, every table with a tenant is distributed by it. Memories without a tenant are visible to all tenants, so
they are copied to every node: the schema `memotherm_shared` has reference tables with the same columns. A tenant's
statement reads its own rows from its shard and the others from the copy on the same node, and changes rows of its
shard only. A statement that changes rows without a tenant is repeated on the copies, in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from memotherm.storage.statements import Marks, Template

#: Where our tables are, so that they can live in a database with others.
SCHEMA = "memotherm"
#: Where the copies of rows without a tenant are.
SHARED_SCHEMA = "memotherm_shared"
#: The tables whose rows without a tenant are read by other tenants.
COPIED = (
    "spaces",
    "memories",
    "tags",
    "claims",
    "turns",
    "vectors",
    "texts",
    "events",
    "tombstones",
    "roots",
    "notes",
    "chunks",
    "counters",
)
#: All tables that have a tenant; one that refers to another comes after it.
DISTRIBUTED = (*COPIED, "recalls", "uses", "receipts", "sessions", "tallies", "flushes", "injected", "jobs")
#: The statements whose rows get their number from a sequence, and those that repeat them on the copies.
NUMBERED = {"space_add": "space_copy", "note_add": "note_copy"}

#: The tiers of each part of the indexes; a statement with the mark `band` exists once for each.
_BANDS = {"live": "< 2", "cold": "= 2"}


class Rows(NamedTuple):
    """Which rows of the tables a statement concerns."""

    #: The condition on the tenant of each row; empty = none.
    tenant: str
    #: Returns a table, as it is named in FROM; None = by its name alone.
    table: Callable[[str], str] | None = None

    def marks(self, tiers: str) -> Marks:
        """Return what fills the marks of a statement; `tiers` is the condition of its band."""
        own_tenants, all_tenants = "unnest(CAST(:tenants AS TEXT[]))", "(SELECT DISTINCT tenant FROM spaces)"
        return {
            "table": self._named,
            "in": lambda name: f"= ANY(:{name})",
            "own": lambda table="": f"{table}.tenant {self.tenant} AND ".removeprefix(".") if self.tenant else "",
            "same": lambda one, other: f"{one}.tenant = {other}.tenant AND ",
            "key": lambda table="": f"{table}.tenant, ".removeprefix("."),
            "index": lambda _: "",
            "cross": lambda: "JOIN",
            "made": lambda v, m: f"{v}.tenant = {m}.tenant AND {v}.embedder = :number AND {v}.no = {m}.no",
            "elements": lambda column: f"jsonb_array_elements(CAST({column} AS JSONB)) AS element (value)",
            "number": lambda: "CAST(element.value AS BIGINT)",
            "item": lambda place: f"element.value ->> {place}",
            "contains": lambda column, text: f"position(:{text} IN {column}) > 0",
            "each_tenant": lambda: f"{own_tenants if self.tenant else all_tenants} AS each (tenant)",
            "band": lambda table: f"{table}.tier {tiers} AND ",
        }

    def _named(self, table: str, alias: str = "") -> str:
        if self.table is None:
            return f"{table} {alias}".rstrip()
        return f"{self.table(table)} AS {alias or table}"


def _own(table: str) -> str:
    return f"(SELECT * FROM {SCHEMA}.{table} WHERE tenant = :own_tenant)"  # noqa: S608 - a table of ours


def _visible(table: str) -> str:
    """Return the rows of a tenant, and the copies of those without a tenant.

    The column `shard` is the same for both, so that one condition selects the shard; a condition inside the union
    would prevent joins by an index.
    """
    if table not in COPIED:
        return _own(table)
    return f"""(SELECT * FROM (
    SELECT *, tenant AS shard FROM {SCHEMA}.{table}
    UNION ALL
    SELECT *, CAST(:own_tenant AS TEXT) COLLATE "C" FROM {SHARED_SCHEMA}.{table}) AS visible
WHERE shard = :own_tenant)"""  # noqa: S608


#: The rows of all tenants.
ALL = Rows("")
#: Those of a tenant and those without one, on one server.
VISIBLE = Rows("= ANY(:tenants)")
#: Those of a tenant, in its shard.
_SHARD = Rows("= :own_tenant")
#: The same, for a statement without a condition on the tenant of each table; Citus takes longer to plan it.
_SHARD_ROWS = Rows("= ANY(:tenants)", _own)
#: Those of a tenant in its shard, and the copies of those without a tenant.
_SHARD_AND_COPIES = Rows("= ANY(:tenants)", _visible)
#: The copies of rows without a tenant.
_COPIES = Rows("", lambda table: f"{SHARED_SCHEMA}.{table}")


def texts_of(templates: Mapping[str, Template], rows: Callable[[Template], Rows]) -> dict[str, str]:
    """Return the text of each statement for the rows that it concerns."""
    found: dict[str, str] = {}
    for name, template in templates.items():
        concerned = rows(template)
        if template.count("band"):
            found |= {f"{name}_{band}": template.filled(concerned.marks(tiers)) for band, tiers in _BANDS.items()}
        else:
            found[name] = template.filled(concerned.marks(""))
    return found


def with_copies(template: Template) -> Rows:
    """Return the rows of a tenant where memories without a tenant exist; they are on one node."""
    return _SHARD if _needs_table(template) else _SHARD_AND_COPIES


def without_copies(template: Template) -> Rows:
    """Return the rows of one tenant and no others."""
    has_conditions = template.count("table") <= template.count("own", "same", "made")
    return _SHARD if has_conditions or _needs_table(template) else _SHARD_ROWS


def copying(templates: Mapping[str, Template]) -> dict[str, str]:
    """Return the statements that repeat a change of rows without a tenant on the copies, by name."""
    changes = {
        name: templates[NUMBERED.get(name, name)]
        for name, template in templates.items()
        if template.changes and template.tables and {*template.tables} <= {*COPIED}
    }
    return texts_of(changes, lambda _: _COPIES)


def _needs_table(template: Template) -> bool:
    """Return whether a statement needs the tables themselves: it changes or samples their rows."""
    return template.changes or any("TABLESAMPLE" in text for text in template.texts)
