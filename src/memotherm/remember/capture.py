"""Prepare a captured text: remove recalled blocks and secrets, and decide whether to store it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from memotherm.embed.local import filler_odds
from memotherm.model import Memory, Scope
from memotherm.model.results import Captured
from memotherm.remember.draft import checked_metadata
from memotherm.settings import Settings
from memotherm.settings.paths import is_excluded
from memotherm.statements.kinds import kind_of
from memotherm.storage.store import Store
from memotherm.storage.values import Search
from memotherm.text.content import pluralize, without_blocks
from memotherm.text.language import WORD_LISTS
from memotherm.text.phrases import clauses, filler_reason, has_name, is_filler, is_question, sentences, specifics
from memotherm.text.redaction import MARK, redactor
from memotherm.text.words import query_words, stemmed_words

#: Clauses with more than these odds are filler, in texts up to this length. `python -m bench.filler` shows how often
#: that is wrong.
FILLER_ODDS = 1.0
_MAX_FILLER_CHARS = 80
#: How many memories are compared to find one that says the same, and by how many words they are searched for.
_COMPARED = 20
_SEARCHED_WORDS = 5
#: Words that change nothing.
_ARTICLES = frozenset(WORD_LISTS["other"]["articles"].split())


class Prepared(NamedTuple):
    """A text to store."""

    text: Any
    metadata: Mapping[str, Any] | None
    #: The outcome; its status is skipped if the text is not to be stored.
    result: Captured


def prepared(content: object, metadata: Mapping[str, Any] | None, project: str | None, settings: Settings) -> Prepared:
    """Return a text without recalled blocks and without secrets, and whether to store it.

    Other types are returned unchanged, for `remember` to refuse.
    """
    if not isinstance(content, str):
        return Prepared(content, metadata, Captured(status="stored"))
    # Its nesting is limited before anything walks through it.
    checked = None if metadata is None else checked_metadata(metadata)
    text = without_blocks(content)
    removed = len(content) - len(text)
    secrets = redactor(settings)
    (text, kept), redacted = secrets.redact_values([text, checked])
    done = [f"{removed} characters of recalled memories were removed"] if removed else []
    if redacted:
        done.append(f"{pluralize(redacted, 'secret')} replaced by {MARK}")
    reason = _reason_to_skip(text, project, settings, removed=bool(removed), redacted=bool(redacted))
    if not reason and _is_filler(text, by_user=is_by_user(metadata)):
        reason = "nothing but filler words"
    why = reason if reason.startswith("nothing but") else "; ".join(filter(None, [reason, *done]))
    status = "skipped" if reason else "stored"
    return Prepared(text, kept, Captured(status=status, why=why, removed_chars=removed, redacted=redacted))


def is_by_user(metadata: object) -> bool:
    """Return whether a user said a text, as the role in its metadata tells; without a role, it was the user."""
    return not isinstance(metadata, Mapping) or metadata.get("role", "user") == "user"


def _reason_to_skip(text: str, project: str | None, settings: Settings, *, removed: bool, redacted: bool) -> str:
    """Return why a text is not stored; empty if it is."""
    if is_excluded(settings.capture_exclude, project):
        return "the setting capture_exclude names this project"
    if removed and not text.strip():
        return "nothing but recalled memories"
    if redacted and not text.replace(MARK, "").strip():
        return "nothing but secrets"
    return filler_reason(text)


def _is_filler(text: str, *, by_user: bool) -> bool:
    """Return whether each clause of a short text is likely to say nothing lasting.

    Numbers, code, paths and questions always say something; so do names and what marks a preference, decision or task,
    unless an assistant says it: assistants greet by name.
    """
    if len(text) > _MAX_FILLER_CHARS or specifics(text) or any(map(is_question, sentences(text))):
        return False
    if by_user and (has_name(text) or kind_of(text)):
        return False
    return all(is_filler(clause) or filler_odds(clause) > FILLER_ODDS for clause in clauses(text))


def repeated(store: Store, scope: Scope, text: str, now: datetime) -> Memory | None:
    """Return the memory of a scope that has the same words in the same order, whatever their case and inflection."""
    wanted = _said(text)
    # Numbers and long words are rare.
    words = sorted(query_words(text), key=lambda word: (word.isalpha(), -len(word)))[:_SEARCHED_WORDS]
    if not words:
        return None
    found = store.search_text(Search(spaces=store.spaces(scope), now=now), words, _COMPARED).scores
    memories = (record.memory for record in store.records(list(found)).values())
    own = (memory for memory in memories if memory.scope == scope and memory.key is None)
    return next((memory for memory in own if _said(memory.content) == wanted), None)


def _said(text: str) -> list[str]:
    return [word for word in stemmed_words(text) if word not in _ARTICLES]
