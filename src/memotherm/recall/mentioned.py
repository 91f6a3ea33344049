"""Which memories mention a name or an identifier, found by the text index and verified on the contents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from memotherm.storage.store import Store
from memotherm.storage.values import Record, Search
from memotherm.text.mentions import index_words, mention_test, tokens

#: The keys and the kind of the memories that say which names mean the same.
ALIASES, ALIAS = "alias/", "alias"
_PAGE = 1000
_ALL = 1 << 62


def mentioned(store: Store, search: Search, names: Sequence[str]) -> tuple[int, ...]:
    """Return the numbers of the memories that mention one of some names, or one of their aliases."""
    names = with_aliases(store, search, names)
    test = mention_test(names)
    return tuple(record.no for record in _indexed(store, search, names) if test(record.memory.content))


def with_aliases(store: Store, search: Search, names: Sequence[str]) -> list[str]:
    """Return names with all that mean the same, as `alias` has recorded in the spaces of a search."""
    recorded = Search(spaces=search.spaces, now=search.now, prefix=ALIASES, limit=_PAGE)
    found = {tuple(tokens(name)): name for name in reversed(names)}
    # By the tokens of each name, all names that it was said to mean the same as.
    same: dict[tuple[str, ...], list[tuple[tuple[str, ...], str]]] = {}
    for alias in map(alias_names, store.each(recorded)):
        spelled = [(tuple(tokens(name)), name) for name in alias]
        for own, _ in spelled:
            same.setdefault(own, []).extend(spelled)
    # An alias of an alias is one as well.
    open_ones = list(found)
    while open_ones:
        for own, name in same.pop(open_ones.pop(), ()):
            if own not in found:
                found[own] = name
                open_ones.append(own)
    return list(dict.fromkeys((*names, *found.values())))


def alias_names(alias: Record) -> list[str]:
    """Return the names of an alias; a memory that only has its kind or its key may have none."""
    names = alias.memory.metadata.get("names")
    return list(map(str, names)) if isinstance(names, list) else []


def _indexed(store: Store, search: Search, names: Sequence[str]) -> Iterator[Record]:
    """Yield the memories that may mention one of the names; all of them if the text index has a problem."""
    if store.recall_problems():
        yield from store.each(replace(search, limit=_PAGE))
        return
    words = list(dict.fromkeys(word for name in names for word in index_words(name)))
    found = list(store.search_text(search, words, _ALL).scores) if words else []
    for start in range(0, len(found), _PAGE):
        yield from store.records(found[start : start + _PAGE]).values()
