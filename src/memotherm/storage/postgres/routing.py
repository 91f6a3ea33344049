"""The statements of a distributed store, derived from those of a store on one server.

Every table with a tenant is distributed by it. Memories without a tenant are visible to all tenants, so they are
copied to every node: the schema `memotherm_shared` has reference tables with the same columns. A tenant's statement
reads its own rows from its shard and the others from the copy on the same node, and changes rows of its shard only.
A statement that changes rows without a tenant is repeated on the copies, in the same transaction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from memotherm.storage.statements import marked

#: Where our tables are, so that they can live in a database with others.
SCHEMA = "memotherm"
#: Where the copies of rows without a tenant are.
SHARED_SCHEMA = "memotherm_shared"
#: The tables whose rows without a tenant are read by other tenants.
COPIED = (
    "spaces",
    "memories",
    "tags",
    "turns",
    "vectors",
    "texts",
    "events",
    "tombstones",
    "roots",
    "notes",
    "chunks",
    "counters",
    "shadow_tiers",
)
#: All tables that have a tenant; one that refers to another comes after it.
DISTRIBUTED = (*COPIED, "recalls", "uses", "receipts", "sessions", "tallies", "flushes", "injected", "jobs")

_TABLE = "|".join(sorted(DISTRIBUTED, key=len, reverse=True))
#: A table that is read, with its alias.
_READ = re.compile(rf"\b(FROM|JOIN) ({_TABLE})\b(?: ([a-z_]+)\b)?")
#: A table that is read or changed.
_NAMED = re.compile(rf"\b(FROM|JOIN|INTO|UPDATE) ({_TABLE})\b")
#: The condition that a row belongs to the tenant or to everyone.
_VISIBLE = re.compile(r"(\w+\.)?tenant = ANY\(:tenants\) AND ")
#: The condition that it belongs to the tenant.
_OWN = r"\1tenant = :own_tenant AND "
#: The condition that two rows belong to the same tenant.
_SAME = re.compile(r"\w+\.tenant = \w+\.tenant AND ")
_CHANGE = re.compile(r"(INSERT|UPDATE|DELETE)\b")
#: The statements whose rows get their number from a sequence, and its column.
NUMBERED = {"space_add": "space", "note_add": "note"}


def changes(text: str) -> bool:
    """Return whether a statement changes rows."""
    return _CHANGE.match(text) is not None


def routed(statements: Mapping[str, str]) -> dict[str, str]:
    """Return the statements of a tenant, each of which needs one shard and the copies on the same node."""
    own, visible = statements["rows_own"], statements["rows_visible"]
    return {name: _routed(text, own, visible) for name, text in statements.items()}


def own_only(statements: Mapping[str, str]) -> dict[str, str]:
    """Return the statements that read the rows of one tenant and no others, each of which needs one shard."""
    own = statements["rows_own"]
    return {
        name: _VISIBLE.sub(_OWN, text) if _names_tenants(text) else _routed(text, own, own)
        for name, text in statements.items()
    }


def copying(statements: Mapping[str, str]) -> dict[str, str]:
    """Return the statements that repeat a change of rows without a tenant on the copies, by name."""
    found = {}
    for name, text in statements.items():
        if changes(text) and (tables := {table for _, table in _NAMED.findall(text)}) and tables <= {*COPIED}:
            numbered = _with_number(text, NUMBERED[name]) if name in NUMBERED else text
            found[name] = _NAMED.sub(rf"\1 {SHARED_SCHEMA}.\2", _VISIBLE.sub("", numbered))
    return found


def _with_number(text: str, column: str) -> str:
    """Return a statement that inserts a row with a number that it is given."""
    return text.replace(" (", f" ({column}, ", 1).replace("VALUES (", "VALUES (:number, ", 1)


def _names_tenants(text: str) -> bool:
    """Return whether each table of a statement has a condition on its tenant; Citus plans such a statement faster."""
    return len(_READ.findall(text)) <= len(_VISIBLE.findall(text)) + len(_SAME.findall(text))


def _routed(text: str, own: str, visible: str) -> str:
    """Return a statement that changes rows of one shard, or reads rows that are visible to its tenant."""
    if changes(text) or "TABLESAMPLE" in text:
        return _VISIBLE.sub(_OWN, text)

    def readable(read: re.Match[str]) -> str:
        word, table, alias = read.groups()
        return f"{word} ({marked(visible if table in COPIED else own, {'table': table})}) AS {alias or table}"

    return _READ.sub(readable, text)
