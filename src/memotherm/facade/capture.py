"""Capture: whether a text of a conversation is stored, as what, and what it does to older memories.

It may replace a part of one, close a task, or take a rule back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, Self

from memotherm.embed.local import filler_odds
from memotherm.errors import Forbidden
from memotherm.facade.endings import with_heard_condition
from memotherm.model import Memory, Scope, Tier
from memotherm.model.actions import Action
from memotherm.model.clock import as_moment
from memotherm.model.memory import SUMMARY
from memotherm.model.results import Captured, Page
from memotherm.remember.draft import Draft, checked_metadata, is_by_user
from memotherm.settings import Settings
from memotherm.settings.paths import is_excluded
from memotherm.statements.endings import ended, taken_back
from memotherm.statements.kinds import classified, holds_until, kind_of
from memotherm.statements.replacing import Turn, values_of
from memotherm.storage.store import Store
from memotherm.storage.values import Search
from memotherm.text.claims import MOST_CHARS
from memotherm.text.content import pluralize, without_blocks
from memotherm.text.language import WORD_LISTS
from memotherm.text.phrases import clauses, filler_reason, has_name, is_filler, is_question, sentences, specifics
from memotherm.text.redaction import MARK, redactor
from memotherm.text.relative_days import due_day
from memotherm.text.words import query_words, stemmed_words

if TYPE_CHECKING:
    from memotherm.facade.view import View
    from memotherm.recall.recaller import Found

#: Clauses with more than these odds are filler, in texts up to this length. `python -m bench.filler` shows how often
#: that is wrong.
FILLER_ODDS = 1.0
_MAX_FILLER_CHARS = 80
#: How many memories are compared to find one that says the same, and by how many words they are searched for.
_COMPARED = 20
_SEARCHED_WORDS = 5
#: Words that change nothing.
_ARTICLES = frozenset(WORD_LISTS["other"]["articles"].split())


def prepared(
    content: object, metadata: Mapping[str, Any] | None, project: str | None, settings: Settings
) -> tuple[Any, Mapping[str, Any] | None, Captured]:
    """Return a text and its metadata without recalled blocks and secrets; the outcome is skipped if not to be stored.

    Other types are returned unchanged, for `remember` to refuse.
    """
    if not isinstance(content, str):
        return content, metadata, Captured(status="stored")
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
    return text, kept, Captured(status=status, why=why, removed_chars=removed, redacted=redacted)


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


#: How many older memories are looked at.
_MOST_HITS = 6
#: The lowest score of one that rules may take for what is meant, without words for a change and with them, and its
#: share of the best one.
_MIN_SCORE, _MIN_SCORE_CHANGED = 0.5, 0.2
_MIN_SHARE = 0.5
#: The share of the best score with which a memory is one of the best.
_BEST_SHARE = 0.9
#: How long a turn can answer the one before.
_TURN = timedelta(hours=1)


class _Replaced(NamedTuple):
    """What a turn replaces."""

    #: What the turn answers, if its words alone do not tell what it is about.
    about: str = ""
    #: The ids of the memories of which it replaces a part, each with that part.
    parts: Mapping[str, str] = {}


def capture(
    view: View, draft: Draft, at: datetime | str | None, report: Callable[[str], None] | None = None
) -> Captured:
    """Store a text of a conversation unless it says nothing; one that was said before is used once more.

    With `report`, its words decide its kind and whether it is stored for the user, and questions are left out; it is
    called with what a user said, before that is stored, also if it is too short for that.
    """
    services, now, scope = view.services, view.now(), view.scope
    replaced = _Replaced()
    if isinstance(draft.content, str) and is_by_user(draft.metadata) and draft.kind != "task":
        named = draft.metadata.get("session") if isinstance(draft.metadata, Mapping) else None
        replaced = _replaced_by(view, draft.content, named or scope.session)
    content = f"{replaced.about}\n{draft.content}" if replaced.about else draft.content
    text, metadata, result = prepared(content, draft.metadata, scope.project, services.settings)
    _tell(report, view, text.partition("\n")[2] if replaced.about else text, metadata)
    if result.status == "skipped":
        return result
    state = {} if at is None else {"created_at": min(as_moment(at, "at", now), now)}
    draft = replace(draft, content=text, metadata=metadata, state=state)
    if isinstance(text, str):
        if report is not None:
            kind = classified(text, by_user=is_by_user(metadata))
            if kind.question:
                return replace(result, status="skipped", why="nothing but a question")
            draft = replace(draft, kind=kind.name, tags=(*draft.tags, *kind.tags))
            if kind.about_user and scope.user and scope.session is None:
                scope = scope.of_user()
        draft = _dated(draft, text, state.get("created_at", now).date())
        if view.folder is not None and draft.kind != "task" and draft.valid_until is None:
            draft = with_heard_condition(draft, text, view.folder)
        if services.settings.duplicate_window_hours:
            same = repeated(services.store, scope, text, now)
            draft = draft if same is None else replace(draft, content=same.content, kind=same.kind)
    before = services.store.seq()
    cause = replace(view.cause(Action.REMEMBER), at=now)
    memory = services.writer.capture(view.placed(draft), scope, cause, replaced.parts)
    if memory is None:
        return replace(result, status="skipped", why="it was forgotten or corrected here; `remember` stores it again")
    new = memory.version > before and memory.access_count == 0
    return replace(result, status="stored" if new else "duplicate", memory=memory)


def _tell(report: Callable[[str], None] | None, view: View, text: object, metadata: Mapping[str, Any] | None) -> None:
    """Report what a user said in a project that is captured."""
    if report is None or not isinstance(text, str) or not is_by_user(metadata):
        return
    if not is_excluded(view.services.settings.capture_exclude, view.scope.project):
        report(text)


def _dated(draft: Draft, text: str, written: date) -> Draft:
    """Return a draft with the day that its text names: the deadline of a task, or the end of what holds until then."""
    if draft.kind != "task":
        return replace(draft, valid_until=holds_until(text, written))
    due = due_day(text, written)
    # When its deadline has passed, a task is still open.
    return draft if due is None else replace(draft, metadata={"due": due.isoformat(), **(draft.metadata or {})})


def _replaced_by(view: View, text: str, session: object) -> _Replaced:
    """Return what a turn of a user replaces; `session` is the name of its conversation, or None.

    A turn such as "no, 14" answers the turn before.
    """
    prompt, _, reply = text.partition("\n")
    told = _told_by_reply(view, Turn(reply))
    said = Turn(prompt)
    if not said.may_change or classified(prompt).name == "rule":
        return _Replaced(parts=told)
    own = told | _parts(view, said, "", "")
    if (own and not said.is_bare) or not said.needs_context:
        return _Replaced(parts=own)
    before = _before(view, session)
    about, _, answered = before.content.partition("\n") if before is not None else ("", "", "")
    parts = own | _parts(view, said, about, answered) if about else own
    return _Replaced(about if parts or said.denies else "", parts)


def _told_by_reply(view: View, reply: Turn) -> dict[str, str]:
    """Return the ids of the memories with a reply of which a reply replaces a number, each with the part that has it.

    "With the cache, CI is down to 6 minutes" is a result. What a person said, no reply replaces.
    """
    if not (reply.says_change and values_of(reply.text).numbers):
        return {}
    hits = _found(view, reply.text).hits
    parts = {hit.memory.id: reply.replaced_number(hit.memory.content.partition("\n")[2]) for hit in hits}
    return {memory_id: part for memory_id, part in parts.items() if part}


def _found(view: View, query: str) -> Found:
    return view.services.recaller.search(view.question(query, tuple(Tier), min_score=0.0), _MOST_HITS)


def _parts(view: View, said: Turn, about: str, answered: str) -> dict[str, str]:
    """Return the ids of the memories of which a turn replaces a part, each with that part."""
    found = _found(view, f"{about}\n{said.text}" if about else said.text)
    best = max((hit.score for hit in found.hits), default=0.0)
    least = max(_MIN_SCORE_CHANGED if said.says_change else _MIN_SCORE, _MIN_SHARE * best)
    hits = [hit for hit in (*found.pinned, *found.hits) if _may_be_meant(hit.memory)]
    counts = Counter(word for hit in hits for word in values_of(hit.memory.content).words)
    frequent = frozenset(word for word, count in counts.items() if 2 * count > len(hits) > 2)
    parts = {
        hit.memory.id: said.replaced_part(
            hit.memory.content, about, frequent, answered,
            is_best=hit.score >= _BEST_SHARE * best, may_tell=hit.score >= least,
        )
        for hit in hits
    }  # fmt: skip
    return {memory_id: part for memory_id, part in parts.items() if part}


def _may_be_meant(memory: Memory) -> bool:
    return memory.kind != SUMMARY and len(memory.content) <= MOST_CHARS


def _before(view: View, session: object) -> Memory | None:
    """Return the memory of the turn before in a conversation; None if it was not stored, or long ago."""
    if not isinstance(session, str):
        return None
    store, search = view.listing(where={"session": session})
    found = store.find(replace(search, limit=1))
    recent = (record.memory for record in found if view.now() - record.memory.created_at <= _TURN)
    return next(recent, None)


# Reports of tasks, and rules that are taken back

#: The open tasks, and the rules, of which one may be meant by what is said.
_MOST_OPEN = 200


class ReportTarget(Protocol):
    """What reports are applied to: a memory, here or on a server."""

    @property
    def scope(self) -> Scope:
        """The scope."""

    def for_user(self) -> Self:
        """Return the memory of the user in all projects."""

    def tasks(self, limit: int = ...) -> list[Memory]:
        """Return the open tasks."""

    def finish(self, memory_id: str, status: Literal["done", "cancelled"] = ..., why: str = ...) -> Memory:
        """Close a task."""

    def find(self, *, limit: int = ..., kind: str) -> Page:
        """List memories."""

    def update(self, memory_id: str, *, why: str = ..., valid_until: datetime) -> Memory:
        """Change a memory."""


def apply_reports(mem: ReportTarget, text: str, at: datetime) -> None:
    """Close the open tasks that a user reports as done or cancelled, and end the rules that the user takes back.

    Args:
        mem: The memory of the user's project, here or on a server.
        text: What the user said.
        at: When it was said.
    """
    tasks, rules = list[Memory](), list[Memory]()
    for end in list(ended(text, _contents(tasks, text, lambda: mem.tasks(_MOST_OPEN)))):
        _apply(partial(mem.finish, tasks[end.place].id, end.status), end.sentence)
    for place, sentence in list(taken_back(text, _contents(rules, text, lambda: _rules(mem)))):
        rule = rules[place]
        # A rule for all projects is a memory of the user.
        owner = mem if rule.scope.project or not mem.scope.user else mem.for_user()
        _apply(partial(owner.update, rule.id, valid_until=max(at, rule.created_at)), sentence)


def _apply(change: Callable[..., Memory], sentence: str) -> None:
    """Make a change with the sentence that asks for it as the reason, or without one if that was forgotten."""
    try:
        change(why=f"said: {sentence}")
    except Forbidden:
        change()


def _rules(mem: ReportTarget) -> list[Memory]:
    """Return the rules and preferences that hold."""
    found = (memory for kind in ("rule", "preference") for memory in mem.find(kind=kind, limit=_MOST_OPEN))
    return [memory for memory in found if memory.valid_until is None]


def _contents(found: list[Memory], text: str, read: Callable[[], list[Memory]]) -> Callable[[], list[str]]:
    """Return a function that reads memories, keeps them, and returns their contents.

    What the text only says again is left out: its own words do not end it.
    """

    def contents() -> list[str]:
        said = {tuple(stemmed_words(part)) for part in (text, *sentences(text))}
        found.extend(memory for memory in read() if tuple(stemmed_words(memory.content)) not in said)
        return [memory.content for memory in found]

    return contents
