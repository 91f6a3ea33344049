"""What is read from the exports of other programs: an `Import` collects drafts of memories, and a reader fills it."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from memotherm.errors import NotAStore
from memotherm.model import Priority, Retention, Scope, Tier, Trust
from memotherm.model.clock import any_moment
from memotherm.model.names import field_of
from memotherm.notes.files import read_file
from memotherm.notes.values import Skipped
from memotherm.settings import Settings
from memotherm.storage.sqlite.driver import is_sqlite, read_tables
from memotherm.text.chunks import ChunkSize, chunks
from memotherm.text.content import require_text, without_blocks
from memotherm.text.markdown import decode, split_lines
from memotherm.text.redaction import redactor
from memotherm.text.tokens import count_tokens
from memotherm.tiers.rules.properties import FILE_SOURCE

#: The arguments of a memory, `created_at`, `scope`, `state` (other fields) and `remark` (what is not as it was).
Draft = dict[str, Any]
#: Returns the drafts of an entry, given the time of the import.
DraftsOf = Callable[[Any, datetime], Iterable[Draft]]
#: The exceptions of a reader for an invalid entry.
_BAD_ENTRY = (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError)

_MAX_CHARS = 4000


@dataclass(slots=True)
class Import:
    """The state of an import."""

    source: str
    now: datetime
    settings: Settings
    #: The drafts to store, each with its origin.
    drafts: list[tuple[Draft, str]] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    files: int = 0
    #: How many credentials and private passages were replaced.
    redacted: int = 0
    #: Whether it is our own export, which contains only what was stored on purpose.
    own: bool = False

    def add(self, draft: Draft, where: str) -> None:
        """Add a draft; one of another program is redacted, and left out if its content is too short."""
        if not self.own:
            draft = self._redacted(draft)
        if not self.own and len(draft["content"].strip()) < 3:
            self.skip(where, "too short to mean something")
            return
        if remark := draft.pop("remark", ""):
            self.skip(where, remark)
        self.drafts.append(({"source": self.source, **draft}, where))

    def read(self, entry: Any, drafts_of: DraftsOf, where: str, problem: str) -> None:  # noqa: ANN401
        """Add the drafts of an entry; skip it if it is invalid."""
        try:
            drafts = list(drafts_of(entry, self.now))
        except _BAD_ENTRY as exc:
            self.skip(where, f"{problem}: {exc}")
            return
        for draft in drafts:
            self.add(draft, where)

    def _redacted(self, draft: Draft) -> Draft:
        values = {name: draft[name] for name in ("content", "metadata") if name in draft}
        values, count = redactor(self.settings).redact_values(values)
        self.redacted += count
        return {**draft, **values}

    def skip(self, where: str, why: str) -> None:
        """Record an entry that is not imported."""
        self.skipped.append(Skipped(path=where, why=why))

    def text(self, file: Path) -> str:
        """Return the text of a file; empty, with a record in `skipped`, if it cannot be read."""
        try:
            content = read_file(file)
        except OSError as exc:
            self.skip(file.name, f"cannot be read: {exc.strerror or exc}")
            return ""
        if content is None:
            return ""
        self.files += 1
        return "\n".join(split_lines(decode(content.data)))


class Reader(NamedTuple):
    """A reader of the memories of another program, and what it reads."""

    read: Callable[[Path, Import], None]
    source: str


def json_value(file: Path, reading: Import) -> Any:  # noqa: ANN401 - any JSON value
    """Return the JSON value of a file, or the list of its JSON lines; None if it has neither."""
    text = reading.text(file)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError) as exc:
                reading.skip(f"{file.name}#L{number}", f"not JSON: {exc}")
    return values


def json_lines(file: Path, reading: Import, drafts_of: DraftsOf, problem: str) -> None:
    """Read a file with one JSON object per line; any other line is added to `skipped`."""

    def drafts_of_line(line: str, now: datetime) -> Iterable[Draft]:
        return drafts_of(json.loads(line), now)

    for number, line in enumerate(reading.text(file).split("\n"), 1):
        if line.strip():
            reading.read(line, drafts_of_line, f"{file.name}#L{number}", problem)


def read_entries(entries: Iterable[Any], reading: Import, drafts_of: DraftsOf, where: str) -> None:
    """Read the entries of a list; invalid ones are added to `skipped` with their number."""
    for number, entry in enumerate(entries, 1):
        reading.read(entry, drafts_of, f"{where}[{number}]", "cannot be read")


def moment(value: object, now: datetime) -> dict[str, datetime]:
    """Return {"created_at": ...} for a time as text or a number; empty for anything else or the future."""
    at = any_moment(value)
    return {} if at is None or at > now else {"created_at": at}


def text_of(entry: Mapping[str, Any], name: str) -> str:
    """Return a field that must be text."""
    value = entry[name]
    if not isinstance(value, str):
        raise TypeError(f"its `{name}` is not text")
    return value


def tags_of(value: object) -> list[str]:
    """Return a list of tags, or one tag, as texts."""
    if isinstance(value, str):
        return [value] if value.strip() else []
    return [str(tag) for tag in value] if isinstance(value, list) else []


def pieces(text: str, **fields: Any) -> Iterator[Draft]:  # noqa: ANN401 - the fields of a draft
    """Yield drafts of a text without recalled blocks, split where it is too long for one memory."""
    clean = without_blocks(text).strip()
    contents = [clean] if clean else []
    if len(clean) > _MAX_CHARS:
        contents = [chunk.text for chunk in chunks(clean, count_tokens, ChunkSize(size=800, overlap=0))]
    for content in contents:
        yield {"content": content, **fields}


# Formats

#: Tables of the database, and the lists of the export with the same rows.
_TABLES = {"observations": "observations", "summaries": "session_summaries"}
_SUMMARY = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def _read_claude_mem(source: Path, reading: Import) -> None:
    """Read the observations and the summaries of sessions."""
    file = source / "claude-mem.db" if source.is_dir() else source
    data = _database(file, reading) if is_sqlite(file) else json_value(file, reading)
    if not isinstance(data, Mapping):
        reading.skip(file.name, "not an export of claude-mem")
        return
    for name, drafts_of in (("observations", _observation), ("summaries", _summary)):
        entries = data.get(name)
        read_entries(entries if isinstance(entries, list) else [], reading, drafts_of, f"{file.name} {name}")


def _database(file: Path, reading: Import) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of the database in the form of the export."""
    reading.files += 1
    try:
        rows = read_tables(file, list(_TABLES.values()))
    except NotAStore as exc:
        reading.skip(file.name, str(exc))
        return {}
    return {name: rows[table] for name, table in _TABLES.items()}


def _observation(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    title, text = str(entry.get("title") or ""), str(entry.get("narrative") or entry.get("text") or "")
    facts = [str(fact) for fact in _listed(entry.get("facts"))]
    parts = [title, text or "\n".join(f"- {fact}" for fact in facts)]
    sort = str(entry.get("type") or "")
    yield from pieces(
        "\n\n".join(part for part in parts if part),
        kind="decision" if sort == "decision" else "fact",
        tags=list(dict.fromkeys([*([sort] if sort else []), *map(str, _listed(entry.get("concepts")))])),
        **_common(entry, now),
    )


def _summary(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    parts = [f"{name.replace('_', ' ').capitalize()}: {entry[name]}" for name in _SUMMARY if entry.get(name)]
    yield from pieces("\n".join(parts), kind="context", tags=["summary"], **_common(entry, now))


def _common(entry: Mapping[str, Any], now: datetime) -> Draft:
    metadata = {"original_id": str(entry["id"])} if entry.get("id") is not None else {}
    files = [str(file) for file in _listed(entry.get("files_modified"))]
    return {
        "metadata": {**metadata, **({"files": files} if files else {})},
        "scope": {"project": str(entry["project"])} if entry.get("project") else {},
        **(moment(entry.get("created_at_epoch"), now) or moment(entry.get("created_at"), now)),
    }


def _listed(value: object) -> list[Any]:
    if isinstance(value, str) and value.startswith("["):
        value = json.loads(value)
    return value if isinstance(value, list) else []


#: The fields of an exported memory that are arguments of `remember`, and its state, which none of them sets.
_EXPORTED = ("content", "kind", "tags", "tier", "priority", "metadata", "source", "key", "index")
#: Its times; the first ones have passed, and one that lies in the future is not believed.
_PASSED = ("created_at", "updated_at", "accessed_at", "verified_at", "last_used_at", "tier_since", "retention_since")
_ANY_TIME = ("expires_at", "valid_from", "valid_until")
_NUMBERS = {"access_count": int, "use_weight": float, "recent_uses": float, "relevance": float}
_ID = re.compile("mem_[0-9a-z]{26}")
_LATEST = datetime.max.replace(tzinfo=UTC)
_LARGEST = 1e9
_LONGEST_RULE = 200


def _exported_drafts(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    """Yield a memory that `export` wrote, with all its fields."""
    fields = ((name, field_of(entry, name)) for name in _EXPORTED)
    draft: Draft = {name: value for name, value in fields if value is not None}
    content = draft.get("content")
    if not isinstance(content, str) or not content.strip():
        raise ValueError("its content is empty, or no text")
    if str(draft.get("source", "")).startswith(FILE_SOURCE):
        draft |= {"source": "import", "remark": "its file is not here: it is imported as a memory of its own"}
    Tier.of(draft.get("tier", "warm"))
    retention, priority = Retention.of(entry.get("retention") or "active"), Priority.of(draft.get("priority", "normal"))
    if retention not in (Retention.ACTIVE, Retention.ARCHIVED, Retention.PROPOSED):
        raise ValueError(f"it was {retention}")
    scope = Scope(**entry.get("scope") or {})
    if scope.items():
        draft["scope"] = dict(scope.items())
    state = _state(entry, now)
    if any(moment(entry.get(name), _LATEST) and name not in state for name in _PASSED):
        draft.setdefault("remark", "its times that lie in the future were left out")
    expires = state.get("expires_at")
    if expires and expires <= now and retention is Retention.ACTIVE and priority is not Priority.PINNED:
        raise ValueError(f"it expired on {entry['expires_at']}")
    if retention is not Retention.ACTIVE and "id" not in state:
        # The same one for the same entry, so that a second import finds it.
        state["id"] = f"mem_{hashlib.sha256(json.dumps(entry, sort_keys=True).encode()).hexdigest()[:26]}"
    if entry.get("retention"):
        state["retention"] = retention
    yield {**draft, "state": state}


def _state(entry: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return the fields of an exported memory that `remember` has no argument for, and its times."""
    latest = dict.fromkeys(_PASSED, now) | dict.fromkeys(_ANY_TIME, _LATEST)
    state: dict[str, Any] = {name: at for name in latest for at in moment(entry.get(name), latest[name]).values()}
    state |= {name: entry[name] for name in ("id", "supersedes") if _ID.fullmatch(str(entry.get(name)))}
    for name, kind in _NUMBERS.items():
        if entry.get(name) is not None:
            state[name] = kind(entry[name])
            if not 0 <= state[name] < _LARGEST:
                raise ValueError(f"its {name} is {entry[name]!r}")
    if entry.get("trust"):
        state["trust"] = Trust.of(entry["trust"])
    if entry.get("tier_rule"):
        state["tier_rule"] = require_text(entry["tier_rule"], "tier_rule", _LONGEST_RULE)
    return state


_HINDSIGHT_KEPT = ("context", "occurred_start", "occurred_end", "document_id")


def _hindsight_drafts(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    sort = str(entry.get("fact_type") or entry.get("type") or "")
    created = (moment(entry.get(name), now) for name in ("mentioned_at", "date", "created_at"))
    yield {
        "content": text_of(entry, "text"),
        "tags": [*([sort] if sort else []), *tags_of(entry.get("tags"))],
        "metadata": _metadata(entry, _HINDSIGHT_KEPT),
        **next((at for at in created if at), {}),
    }


def _identity(entry: Mapping[str, Any]) -> Draft:
    return {"original_id": str(entry["id"])} if entry.get("id") else {}


def _metadata(entry: Mapping[str, Any], kept: Sequence[str] = ()) -> Draft:
    """Return the metadata of an entry, some of its other fields, and its id."""
    own = entry.get("metadata")
    fields = {name: entry[name] for name in kept if entry.get(name)}
    return {**(own if isinstance(own, Mapping) else {}), **fields, **_identity(entry)}


def _read_list(source: Path, reading: Import, drafts_of: DraftsOf, names: Sequence[str]) -> None:
    """Read the list in a JSON file, or in the first of the named fields; any other value is one entry."""
    data = json_value(source, reading)
    if isinstance(data, dict):
        data = next((data[name] for name in names if name in data), data)
    read_entries(data if isinstance(data, list) else [data], reading, drafts_of, source.name)


def _read_mcp_memory(source: Path, reading: Import) -> None:
    """Read `memory.jsonl`, or `memory.json` of older versions."""
    names = ("memory.jsonl", "memory.json")
    file = next((source / name for name in names if (source / name).is_file()), source)
    json_lines(file, reading, _mcp_memory_drafts, "not an entity or relation")


def _mcp_memory_drafts(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:  # noqa: ARG001
    """Yield the observations of an entity, or a relation, as sentences."""
    if entry.get("type") == "entity":
        name, sort = text_of(entry, "name"), str(entry.get("entityType", ""))
        metadata = {"entity": name, "entity_type": sort}
        for observation in entry.get("observations") or []:
            if not isinstance(observation, str):
                raise TypeError(f"an observation of {name} is not text")
            yield {"content": f"{name}: {observation}", "kind": "entity", "metadata": metadata}
        if not entry.get("observations"):
            yield {"content": f"{name} is a {sort}" if sort else name, "kind": "entity", "metadata": metadata}
    elif entry.get("type") == "relation":
        subject, verb, target = (text_of(entry, key) for key in ("from", "relationType", "to"))
        metadata = {"from": subject, "relation": verb, "to": target}
        yield {"content": f"{subject} {verb.replace('_', ' ')} {target}", "kind": "entity", "metadata": metadata}
    else:
        raise ValueError(f"type {entry.get('type')!r}")


#: Fields of an entry and the fields of a scope that they become.
_SCOPE = {"user_id": "user", "agent_id": "agent", "app_id": "project"}
_MEM0_KEPT = ("run_id", "actor_id", "role")


def _mem0_drafts(entry: Mapping[str, Any], now: datetime) -> Iterator[Draft]:
    content = entry.get("memory", entry.get("text"))
    if not isinstance(content, str):
        raise TypeError("it has no text in `memory`")
    expiry = moment(entry.get("expiration_date"), datetime.max.replace(tzinfo=now.tzinfo)).get("created_at")
    if expiry is not None and expiry <= now:
        raise ValueError(f"it expired on {entry['expiration_date']}")
    yield {
        "content": content,
        "tags": tags_of(entry.get("categories")),
        "metadata": _metadata(entry, _MEM0_KEPT),
        "scope": {field: str(entry[name]) for name, field in _SCOPE.items() if entry.get(name)},
        **({} if expiry is None else {"ttl": (expiry - now).total_seconds()}),
        **moment(entry.get("created_at"), now),
    }


_read_mem0 = partial(_read_list, drafts_of=_mem0_drafts, names=("results", "memories"))
_read_hindsight = partial(_read_list, drafts_of=_hindsight_drafts, names=("items", "results"))
_read_exported = partial(json_lines, drafts_of=_exported_drafts, problem="not an exported memory")
READERS = {
    "mcp-memory": Reader(_read_mcp_memory, "the JSON lines of the MCP reference memory server"),
    "mem0": Reader(_read_mem0, "the JSON of get_all() or of an export"),
    "claude-mem": Reader(_read_claude_mem, "the JSON of its export script, or its database"),
    "hindsight": Reader(_read_hindsight, "the JSON that lists the memories of a bank"),
    "jsonl": Reader(_read_exported, "the JSON lines that `memotherm export` writes"),
}
