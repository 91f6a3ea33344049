"""What was forgotten, corrected, rejected or purged, inside of texts that nobody asked to store again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memotherm.errors import Forbidden
from memotherm.model import Memory, Retention, Scope, Trust
from memotherm.remember.draft import Draft
from memotherm.remember.summaries import kept_by
from memotherm.storage.store import Store, Transaction
from memotherm.storage.tombstones import FORGOTTEN, Compared, Passages, telling, with_marks
from memotherm.storage.values import Cause, Record

#: How many characters of a passage an error quotes.
_QUOTED = 100
#: The fields of a memory, beside its content, that have words of the caller.
_FIELDS = ("source", "tags", "key", "metadata", "kind")


def without_forgotten(store: Store, scope: Scope, texts: Iterable[str]) -> dict[str, str]:
    """Return texts that say something forgotten -> the same with a mark in its place.

    It is empty if nothing else is left but headings.
    """
    wanted = set(texts)
    if not wanted:
        return {}
    with store.tombstones() as tombstones:
        found = tombstones.find(scope, wanted)
    return {text: with_marks(text, passages) for text, passages in found.items()}


def forgotten_names(store: Store, scope: Scope, names: Collection[str]) -> Collection[str]:
    """Return the names, such as those of files, that say something forgotten."""
    with store.tombstones() as tombstones:
        if not telling(tombstones.find(scope, ["\n".join(names)], clauses=False)):
            return ()
        return telling(tombstones.find(scope, names, clauses=False)).keys()


def without_secrets(store: Store, scope: Scope, draft: Draft) -> Draft:
    """Return a draft with a mark in place of secret values that were purged."""
    texts = set(_texts(draft.content, *(getattr(draft, name) for name in _FIELDS)))
    with store.tombstones() as tombstones:
        found = tombstones.find(scope, texts)
    secrets = {text: [passage for passage in passages if passage.secret] for text, passages in found.items()}
    marked = {text: with_marks(text, passages) for text, passages in secrets.items() if passages}
    return replace(_without(draft, marked), content=_replaced(draft.content, marked)) if marked else draft


def cleaned(store: Store, scope: Scope, drafts: Sequence[Draft]) -> tuple[list[Draft], set[str], Compared]:
    """Return drafts without what was forgotten, the contents of which nothing is left, and what was compared.

    A mark takes its place; a tag, a key or an entry of the metadata that is named so is left out.
    """
    drafts = [replace(each, tags=tuple(each.tags)) if isinstance(each.tags, Iterator) else each for each in drafts]
    with store.tombstones() as tombstones:
        if not tombstones.exist:
            return drafts, set(), Compared()
        contents = {draft.content for draft in drafts if isinstance(draft.content, str)}
        fields = {text for draft in drafts for text in _texts(*(getattr(draft, name) for name in _FIELDS))}
        found = {text: with_marks(text, passages) for text, passages in tombstones.find(scope, contents).items()}
        told = telling(tombstones.find(scope, fields | set(map(_joined, drafts)), clauses=False))
        marked = {text: with_marks(text, passages) for text, passages in told.items()}
        left = [_without(draft, marked) for draft in drafts] if marked else list(drafts)
        # What was forgotten may be divided between them.
        divided = telling(tombstones.find(scope, map(_joined, left), clauses=False)) if marked else {}
    bare: dict[str, Any] = {"tags": (), "key": None, "metadata": None, "kind": "fact"}
    left = [replace(each, **bare) if _joined(each) in divided else each for each in left]
    left = [replace(draft, content=found.get(draft.content) or draft.content) for draft in left] if found else left
    return left, {content for content, text in found.items() if not text}, tombstones.result


def require_allowed(transaction: Transaction, after: Memory, by: Trust, before: Memory | None = None) -> None:
    """Raise `Forbidden` if a memory would show what somebody with more trust has forgotten, corrected or purged.

    Of a memory that was visible in its scope `before`, only what has changed is looked at.
    """
    if not transaction.tombstones.exist or by is Trust.PERSON or after.retention is not Retention.ACTIVE:
        return
    if before is not None and (before.retention, before.scope) != (after.retention, after.scope):
        before = None
    changed = [name for name in _FIELDS if before is None or getattr(before, name) != getattr(after, name)]
    # In one text, because what was forgotten may be divided between them.
    fields = _joined(after, changed)
    find = transaction.tombstones.find
    _require_none(telling(find(after.scope, [fields], by, clauses=False) if fields else {}))
    if before is None or before.content != after.content:
        _require_none(find(after.scope, [after.content], by))


def require_allowed_texts(store: Store, scope: Scope, texts: Iterable[str], by: Trust) -> None:
    """Raise `Forbidden` if a text, such as a reason, says what somebody with more trust has forgotten or purged."""
    # A word alone says nothing, and what is no text is refused where it is stored.
    texts = [text for text in texts if text and isinstance(text, str) and not text.isalpha()]
    if not texts or by is Trust.PERSON:
        return
    with store.tombstones() as tombstones:
        found = tombstones.find(scope, texts, by)
    _require_none(telling(found))


def _require_none(found: Passages) -> None:
    """Raise `Forbidden` if a text says what was forgotten."""
    for text, passages in found.items():
        longest = max(passages, key=lambda passage: passage.end - passage.start)
        quoted = "a secret of it" if longest.secret else repr(text[longest.start : longest.end][:_QUOTED])
        raise Forbidden(
            f"{quoted} was forgotten, corrected or purged here on {longest.at:%Y-%m-%d}, and only a "
            "person can store it again: leave it out, or ask the user, who can do so with `memotherm remember`"
        )


def _joined(memory: Memory | Draft, names: Sequence[str] = _FIELDS) -> str:
    """Return the words in fields of a memory as one text."""
    return "\n".join(_texts(*(getattr(memory, name) for name in names)))


def _texts(*values: object) -> Iterator[str]:
    """Yield all texts of JSON values, and the names of their entries."""
    waiting = list(reversed(values))
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting += reversed([*value, *value.values()])
        elif isinstance(value, Sequence):
            waiting += reversed(value)


def _without(draft: Draft, marked: Mapping[str, str]) -> Draft:
    """Return a draft whose fields do not say what was forgotten."""
    tags = draft.tags if isinstance(draft.tags, str) else [tag for tag in draft.tags if tag not in marked]
    return replace(
        draft,
        source=_replaced(draft.source, marked),
        tags=tags,
        key=None if draft.key in marked else draft.key,
        metadata=_replaced(draft.metadata, marked),
        kind="fact" if draft.kind in marked else draft.kind,
    )


def _replaced(value: Any, marked: Mapping[str, str]) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        return marked.get(value, value) or FORGOTTEN
    if isinstance(value, Mapping):
        return {name: _replaced(each, marked) for name, each in value.items() if name not in marked}
    return [_replaced(each, marked) for each in value] if isinstance(value, list | tuple) else value


def mark_forgotten(transaction: Transaction, record: Record, cause: Cause) -> None:
    """Keep what a memory says from coming back by itself; not the text of one that stays when a proposal goes."""
    if kept_by(transaction, record) is None:
        transaction.tombstones.add(record, cause)
