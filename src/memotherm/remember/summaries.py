"""How summaries of sessions, and proposals of decisions, follow what they were made from.

The metadata of a summary name its sources: `derived_from`, with the version of each. If one of them is purged, hidden,
replaced or corrected, the summary is erased with its history and made again from the others, in the same transaction;
if one is superseded, right after it. The metadata of a proposal to keep a memory name it in `keeps`; the proposal is
purged with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from memotherm.model import Memory, Retention, Scope
from memotherm.model.actions import Action
from memotherm.model.clock import new_id
from memotherm.model.memory import SUMMARY
from memotherm.model.summary import DERIVED_FROM, SUMMARY_KEYS, sources, summary_of
from memotherm.storage.store import Store, Transaction
from memotherm.storage.values import EVERY_RETENTION, Cause, Record, Search
from memotherm.text.content import digest
from memotherm.text.tokens import count_tokens
from memotherm.tiers.rules.properties import is_closed
from memotherm.tiers.rules.where import AnyOf, FieldTest

#: How many sources one statement looks for, and the most summaries that it finds.
_BATCH, _MOST_FOUND = 50, 1000


#: The entry of a proposal's metadata that names the memory which its approval keeps, with its version.
KEEPS = "keeps"


def summaries_of(store: Store, scope: Scope, ids: Sequence[str], cause: Cause) -> list[Record]:
    """Return the summaries of a tenant that were made from one of some memories."""
    search = Search(
        spaces=(), now=cause.at, retentions=EVERY_RETENTION, kinds=(SUMMARY,), prefix=SUMMARY_KEYS, limit=_MOST_FOUND
    )
    return _naming(store, scope, ids, DERIVED_FROM, search)


def proposals_to_keep(store: Store, scope: Scope, ids: Sequence[str], cause: Cause) -> list[Record]:
    """Return the proposals of a tenant that have the content of one of some memories, and would keep it."""
    search = Search(spaces=(), now=cause.at, retentions=(Retention.PROPOSED,), limit=_MOST_FOUND)
    return _naming(store, scope, ids, KEEPS, search)


def kept_by(transaction: Transaction, proposal: Record) -> Record | None:
    """Return the memory that a proposal keeps, if it still says the same."""
    named = proposal.memory.metadata.get(KEEPS)
    kept = transaction.get(next(iter(named))) if isinstance(named, Mapping) and named else None
    if (
        kept is None
        or kept.memory.retention is not Retention.ACTIVE
        or not proposal.memory.scope.sees(kept.memory.scope)
    ):
        return None
    return kept if kept.memory.digest == proposal.memory.digest else None


def _naming(store: Store, scope: Scope, ids: Sequence[str], name: str, search: Search) -> list[Record]:
    """Return the memories of a tenant that a search finds and whose metadata name one of some memories in an entry."""
    spaces = store.spaces_within(Scope(tenant=scope.tenant))
    found: dict[int, Record] = {}
    for first in range(0, len(ids), _BATCH):
        tests = tuple(FieldTest((name, memory_id), "exists") for memory_id in ids[first : first + _BATCH])
        found |= {record.no: record for record in store.find(replace(search, spaces=spaces, where=AnyOf(tests)))}
    return list(found.values())


def remake(transaction: Transaction, summaries: Iterable[Record], cause: Cause, tokenizer: str) -> None:
    """Make summaries again, with their day, from those of their sources that still hold; without any, erase them."""
    because = replace(cause, rule="derived", why="made from a memory that has changed")
    for record in summaries:
        memory = record.memory
        named = (transaction.get(memory_id) for memory_id in memory.metadata[DERIVED_FROM])
        left = [each.memory for each in named if each and _is_summarized(each.memory, cause.at)]
        text = summary_of(left, tokenizer)
        transaction.discard(record, replace(because, action=Action.PURGE))
        if text:
            content = f"{memory.content.partition(chr(10))[0]}\n{text}"
            metadata = {**memory.metadata, **sources(left)}
            made = replace(
                memory, id=new_id("mem", cause.at), content=content, digest=digest(content), metadata=metadata,
                tokens=count_tokens(content, tokenizer),
            )  # fmt: skip
            transaction.insert(record.space, made, None, replace(because, action=Action.REMEMBER))


def _is_summarized(memory: Memory, now: datetime) -> bool:
    """Return whether a memory is active, what it says still holds, and is no task that is done."""
    holds = memory.valid_until is None or memory.valid_until > now
    return memory.retention is Retention.ACTIVE and holds and not is_closed(memory)
