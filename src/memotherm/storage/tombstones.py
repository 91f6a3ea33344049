"""What was forgotten, corrected, rejected or purged, and must not be stored again unasked.

A tombstone is a keyed digest of a passage in one spelling. It is looked up by a digest of the first letters and by the
length, so that passages are found inside of larger texts.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from datetime import datetime
from functools import cached_property
from hashlib import blake2s

from memotherm.model import Memory, Scope, Trust
from memotherm.model.clock import from_micros, to_micros
from memotherm.storage.rows import scope_row
from memotherm.storage.statements import Statements
from memotherm.storage.values import Cause, Record
from memotherm.text.spelling import HEAD, HEADINGS, spelled, statements_of

#: Where each text says what was forgotten, and since when.
Passages = dict[str, list[tuple[int, int, datetime]]]


class Tombstones:
    """The tombstones of a store inside one transaction; `exist` tells whether there are any at its beginning."""

    def __init__(self, statements: Statements, *, exist: bool) -> None:
        self._sql = statements
        self._exist = exist

    def add(self, record: Record, cause: Cause, content: str | None = None, beside: str = "") -> None:
        """Keep the content of a memory, or a former one, from being stored again unasked.

        What is also said `beside` it, such as by the memory that replaces it, is not marked.
        """
        self._exist = True
        kept = spelled(beside).joined
        said = statements_of(_own_text(record.memory, record.memory.content if content is None else content))
        if len(said) > 1 and any(each in kept for each in said):
            said.remove(max(said, key=len))  # all of it together
        for each in said:
            if each not in kept:
                values = {"mark": self._mark(each), "head": self._head(each), "length": len(each)}
                by = {"at": to_micros(cause.at), "trust": cause.by.rank}
                self._sql.run("tombstone_add", space=record.space, **values, **by)

    def drop(self, record: Record, by: Trust) -> bool:
        """Delete the tombstones of what a memory says, except those of more trust; return whether there were any."""
        if not self._exist:
            return False
        memory = record.memory
        marks = [self._mark(said) for said in statements_of(_own_text(memory, memory.content))]
        return bool(self._sql.rows("tombstone_drop", space=record.space, marks=marks, trust=by.rank))

    def find(self, scope: Scope, texts: Iterable[str], above: Trust | None = None) -> Passages:
        """Return where texts say, in any spelling, what was forgotten in what a scope can see, and since when.

        With `above`, only what was forgotten by somebody with more trust.
        """
        if not self._exist or above is Trust.PERSON:
            return {}
        row = scope_row(scope)
        words = {text: spelled(text) for text in texts}
        heads: dict[int, set[str]] = {}
        for head in set().union(*(each.heads() for each in words.values())):
            heads.setdefault(self._head(head), set()).add(head)
        like = self._sql.rows("tombstones_like", heads=list(heads), **row) if heads else []
        lengths = [(head, length) for number, length in like for head in heads[number]]
        found: dict[str, list[tuple[str, int, int]]] = {}
        for text, each in words.items() if lengths else ():
            for passage, start, end in each.passages(lengths):
                found.setdefault(self._mark(passage), []).append((text, start, end))
        least = -1 if above is None else above.rank
        spans: Passages = {}
        for mark, at in self._sql.rows("tombstones_seen", marks=list(found), above=least, **row) if found else ():
            for text, start, end in found[mark]:
                spans.setdefault(text, []).append((start, end, from_micros(at)))
        return spans

    @cached_property
    def _key(self) -> bytes:
        return bytes.fromhex(str(self._sql.value("meta_get", key="secret")))

    @cached_property
    def _keyed(self) -> blake2s:
        return blake2s(key=self._key, digest_size=2)

    def _mark(self, passage: str) -> str:
        """Return what identifies a passage."""
        return hmac.digest(self._key, passage.encode(errors="surrogatepass"), "sha256").hex()

    def _head(self, passage: str) -> int:
        """Return 16 bits of a digest of the first letters of a passage."""
        digest = self._keyed.copy()
        digest.update(passage[:HEAD].encode(errors="surrogatepass"))
        return int.from_bytes(digest.digest())


def _own_text(memory: Memory, content: str) -> str:
    """Return a content; that of a part of a note without headings, which other parts have as well."""
    heading = memory.metadata.get("heading")
    return content if heading is None else HEADINGS.sub("", content.removeprefix(f"{heading}\n\n"))
