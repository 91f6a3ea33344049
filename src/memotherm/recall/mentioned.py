"""Which memories mention a name or an identifier, found by the text index and verified on the contents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain

from memotherm.model import Tier
from memotherm.recall.values import Stage, State
from memotherm.storage.store import Store
from memotherm.storage.values import Filter, Find, Record
from memotherm.text.mentions import index_words, mention_test, mentions, tokens
from memotherm.text.words import query_words

#: The keys and the kind of the memories that say which names mean the same.
ALIASES, ALIAS = "alias/", "alias"
_PAGE = 1000
_ALL = 1 << 62


def mentioned(
    store: Store, spaces: Sequence[int], names: Sequence[str], now: datetime, *, hidden: bool = False
) -> tuple[int, ...]:
    """Return the numbers of the memories that mention one of some names, or one of their aliases.

    With `hidden`, archived, deleted and expired memories are searched as well; they are in no index.
    """
    names = with_aliases(store, spaces, names, now)
    test = mention_test(names)
    hidden_ones = Find(now=now, retention=None, hidden=True, limit=_PAGE)
    records = chain(_indexed(store, spaces, names, now), pages(store, spaces, hidden_ones) if hidden else ())
    return tuple(record.no for record in records if test(record.memory.content))


def with_aliases(store: Store, spaces: Sequence[int], names: Sequence[str], now: datetime) -> list[str]:
    """Return names with all that mean the same, as `alias` has recorded."""
    found = dict.fromkeys(names)
    aliases = list(map(_names, pages(store, spaces, Find(now=now, prefix=ALIASES, limit=_PAGE))))
    # An alias of an alias is one as well.
    while more := [same for same in aliases if 0 < sum(_is_named(each, found) for each in same) < len(same)]:
        found |= dict.fromkeys(each for same in more for each in same)
    return list(found)


class AddAliases:
    """The stage after the candidates: if one of them is an alias of a name in the query, its other names are searched.

    A memory with another name counts as one with the name in the query.
    """

    def __init__(self, store: Store, find_candidates: Stage) -> None:
        self._store = store
        self._find_candidates = find_candidates

    def __call__(self, state: State) -> None:
        """Find the candidates again if there are other names; without an alias among them, nothing is read."""
        first, question = state.blocks[0], state.question
        if ALIAS not in first.kind:
            return
        aliases = [no for no, kind in zip(first.no.tolist(), first.kind, strict=True) if kind == ALIAS]
        named = map(_names, self._store.records(aliases).values())
        known = dict.fromkeys(chain.from_iterable(named))
        for name in (name for name in known if mentions(question.text, name)):
            asked = [word for word in query_words(name) if word in state.terms]
            others = with_aliases(self._store, question.spaces, [name], question.where.now)[1:]
            state.also += [(asked, other) for other in map(query_words, others) if asked and other]
        if state.also:
            state.blocks.clear()
            self._find_candidates(state)


def _names(alias: Record) -> list[str]:
    """Return the names of an alias; a memory that only has its kind or its key may have none."""
    names = alias.memory.metadata.get("names")
    return list(map(str, names)) if isinstance(names, list) else []


def _is_named(name: str, names: Iterable[str]) -> bool:
    return any(tokens(name) == tokens(each) for each in names)


def _indexed(store: Store, spaces: Sequence[int], names: Sequence[str], now: datetime) -> Iterator[Record]:
    """Yield the active memories that may mention one of the names; all of them if the text index has a problem."""
    if store.recall_problems():
        yield from pages(store, spaces, Find(now=now, limit=_PAGE))
        return
    words = list(dict.fromkeys(word for name in names for word in index_words(name)))
    found = list(store.search_text(spaces, tuple(Tier), words, _ALL, Filter(now=now)).scores) if words else []
    for start in range(0, len(found), _PAGE):
        yield from store.records(found[start : start + _PAGE]).values()


def pages(store: Store, spaces: Sequence[int], find: Find) -> Iterator[Record]:
    """Yield all memories of a listing."""
    while page := store.find(spaces, find):
        yield from page
        find = replace(find, before=page[-1].no)
