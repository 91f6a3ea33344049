"""What a purge erases from the logs: recalls, receipts and reasons that name or quote a purged memory.

The same holds for entries that wait to be written: the memory may be purged between the recall and its entry.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from memotherm.storage.recall_log import encoded
from memotherm.storage.statements import Row, Statements
from memotherm.storage.values import RecallEntry
from memotherm.storage.writer import UnwrittenEntry
from memotherm.text.redaction import MARK
from memotherm.text.words import query_words

#: How many words of a purged text quote it if all of them are there, although other memories have them, too.
_SHORTEST_QUOTATION = 3


def without_purged(statements: Statements, waiting: Sequence[UnwrittenEntry]) -> list[UnwrittenEntry]:
    """Return entries, and whether each is logged, without what was purged between the recall and this transaction.

    As a purge does with those that are logged already: a recall that returned the memory is not logged, and a
    receipt loses the query and the memory.
    """
    rows = _purged(statements, [logged.entry for logged in waiting])
    nos, ids = {no for no, _ in rows}, {memory_id for _, memory_id in rows}
    return [
        UnwrittenEntry(_receipt_without(entry, ids), keep and nos.isdisjoint(entry.returned))
        for entry, keep, _ in waiting
    ]


def _purged(statements: Statements, entries: Sequence[RecallEntry]) -> list[Row]:
    """Return number and id of the memories that were purged since entries were made, or of those in the entries."""
    seen = [entry.seen for entry in entries]
    known = [seq for seq in seen if seq is not None]
    if known and len(known) == len(seen):
        return statements.rows("purged_since", seq=min(known))
    nos = {no for entry in entries for no in entry.returned}
    receipts = [entry.receipt for entry in entries if entry.receipt is not None]
    ids = {parts[0] for receipt in receipts for parts in receipt.entries}
    return statements.rows("purged_of", nos=list(nos), ids=list(ids)) if nos or ids else []


def _receipt_without(entry: RecallEntry, purged: set[str]) -> RecallEntry:
    receipt = entry.receipt
    if not purged or receipt is None or purged.isdisjoint(parts[0] for parts in receipt.entries):
        return entry
    remaining = [parts for parts in receipt.entries if parts[0] not in purged]
    return replace(entry, receipt=receipt._replace(query=None, entries=remaining))


def erase_from_logs(statements: Statements, ids: Mapping[int, str], texts: Collection[str]) -> None:
    """Erase what the log and the receipts say about purged memories, given their ids by number, and their texts."""
    nos, memory_ids = list(ids), set(ids.values())
    statements.run("recalls_erase", nos=nos)
    statements.run("uses_erase", nos=nos)
    for receipt, entries in statements.rows("receipts_naming", ids=list(memory_ids)):
        statements.run("receipt_erase", receipt=receipt, entries=_without_entries(entries, memory_ids))
    if texts:
        _erase_quotations(statements, nos, texts)


def _without_entries(entries: str, memory_ids: Collection[str]) -> str:
    """Return the entries of a receipt without those of some memories."""
    remaining = [entry for entry in json.loads(entries) if entry[0] not in memory_ids]
    return encoded(remaining)


def _erase_quotations(statements: Statements, nos: Sequence[int], purged: Iterable[str]) -> None:
    """Erase the queries, and the reasons that callers gave, which quote the texts of purged memories.

    They have a word of one that no other memory has, or all words of one. A recall that returned a purged memory is
    erased in any case; but it may also have been asked for before that was stored, or while it was hidden.
    """
    said = [frozenset(query_words(text)) for text in purged]
    words: frozenset[str] = frozenset().union(*said)
    whole: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for each in said:
        if len(each) >= _SHORTEST_QUOTATION:
            whole[max(each, key=len)].append(each)
    recalls, receipts, reasons = (
        {number: words.intersection(query_words(text)) for number, text in statements.rows(name)}
        for name in ("logged_queries", "receipt_queries", "given_reasons")
    )
    used: frozenset[str] = frozenset().union(*recalls.values(), *receipts.values(), *reasons.values())
    gone = used.difference(word for (word,) in statements.rows("words_stored", words=sorted(used), nos=nos))

    def quoting(texts: Mapping[int, frozenset[str]]) -> list[int]:
        return [
            number
            for number, of_text in texts.items()
            if not gone.isdisjoint(of_text) or any(each <= of_text for word in of_text for each in whole.get(word, ()))
        ]

    statements.run("recalls_drop", recalls=quoting(recalls))
    statements.run("receipt_queries_erase", receipts=quoting(receipts))
    statements.run("reasons_erase", seqs=quoting(reasons), mark=MARK)
