"""Faults of the document about Markdown notes (O)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.spec.audit.faults.breaks import (
    MANY,
    Fault,
    answering,
    calling,
    constant,
    instead,
    returning,
    settings,
    without_name,
)

_APPEND = "memotherm.notes.edits:append"
_CITATION = "memotherm.notes.values:citation"
_FILES = "memotherm.notes.files"
_FLUSH = "memotherm.notes.flush"
_NOTES = "memotherm.notes.notes:Notes"
_SEARCH = "memotherm.notes.search"


def _flush(**changes: Any) -> Fault:
    """Change fields of a flush; each is computed from the flush."""
    return answering(
        f"{_FLUSH}:flush_for",
        lambda flush: replace(flush, **{name: change(flush) for name, change in changes.items()}),
    )


def _to_existing_files(original: Any) -> Any:
    return lambda file, text: original(file, text) if file.exists() else (1, 1, True)


def _overwriting(original: Any) -> Any:
    def append(file: Path, text: str) -> Any:
        file.unlink(missing_ok=True)
        return original(file, text)

    return append


def _top_folder_only(found: Any) -> Any:
    return replace(found, files={path: file for path, file in found.files.items() if path.count("/") < 2})


def _always_due(original: Any) -> Any:
    """Flush for heartbeats and in read-only workspaces as well."""
    return lambda self, total_tokens, context_window=200_000, **options: original(
        self, total_tokens, context_window, compactions=options.get("compactions")
    )


def _must_exist(original: Any) -> Any:
    def read(*given: Any) -> Any:
        from memotherm import NotFound

        found = original(*given)
        if not found:
            raise NotFound(f"there is no note {given[1]}")
        return found

    return read


def _ascii(original: Any) -> Any:
    return lambda text, *, ends: original(text.encode("ascii", "replace").decode(), ends=ends)


FAULTS: Mapping[str, Fault] = {
    "O01": returning(f"{_FLUSH}:is_due", True),
    "O02": constant(f"{_FLUSH}:SOFT_TOKENS", 0),
    "O03": constant(f"{_FLUSH}:_SYSTEM", "Pre-compaction memory flush turn. {token}"),
    "O04": _flush(file=lambda flush: "notes.md"),
    "O05": _flush(prompt=lambda flush: f"{flush.prompt} Call memory_add."),
    "O06": settings(silent_token="QUIET"),
    "O07": settings(flush_in_hooks=False),
    "O08": instead(_APPEND, _to_existing_files),
    "O09": calling(f"{_NOTES}.curate", dry_run=True),
    "O10": calling("memotherm.notes.sync:Syncer.__init__", scope=lambda scope: replace(scope, agent=None)),
    "O11": answering(f"{_FILES}:list_files", _top_folder_only),
    "O12": constant("memotherm.text.chunks:_SHARE", 0.0),
    "O13": constant("memotherm.embed.services:OpenAIEmbedder.default_model", "text-embedding-ada-002"),
    "O14": answering("memotherm.storage.store:SearchStore.search_text", lambda found: found._replace(scores={})),
    "O15": settings(sync_on_session_start=False),
    "O16": settings(sync_on_search=False),
    "O17": settings(watch_notes=False),
    "O18": calling(f"{_NOTES}.search", max_results=6),
    "O19": settings(vector_weight=0.7, text_weight=0.3),
    "O20": calling(f"{_NOTES}.search", max_results=lambda most: 5 if most == 6 else most),
    "O21": calling(f"{_NOTES}.search", min_score=lambda least: 0.9 if least == 0.35 else least),
    "O22": instead(_CITATION, lambda original: lambda path, start, end: f"{path}#L{start}-L{end}"),
    "O23": settings(citations="on"),
    "O24": calling(f"{_SEARCH}:excerpt", first=lambda first: first + 1),
    "O25": answering(f"{_SEARCH}:snippet", lambda found: (found[0], found[1] + 1, found[2] + 1)),
    "O26": calling(_CITATION, path=lambda path: Path(path).name),
    "O27": settings(chunk_tokens=401),
    "O28": settings(experimental_session_memory=False),
    "O29": instead("memotherm.tiers.working_memory:WorkingMemory.claim_flush", lambda original: lambda *_, due: due),
    "O30": instead("memotherm.session:Session.flush_due", _always_due),
    "O31": instead(_APPEND, _overwriting),
    "O32": settings(timezone="UTC"),
    "O33": returning(f"{_FILES}:Layout.require_plain", None),
    "O34": instead(f"{_SEARCH}:read_lines", _must_exist),
    "O35": answering("memotherm.recall.evidence:GatherEvidence._coverage", lambda found: found * 0 + 1),
    "O36": calling("memotherm.recall.rank:relevant", weights=lambda weights: replace(weights, text=0.0)),
    "O37": {
        place: lambda original: lambda self, digests: (original(self, digests)[0], {})
        for place in (
            "memotherm.storage.sqlite.store:SqliteStore.served_vectors",
            "memotherm.storage.postgres.store:PostgresStore.served_vectors",
        )
    },
    "O38": returning("memotherm.vectors.embedder_session:FormerEmbedders.session", None),
    "O39": settings(fallback_embedder=""),
    "O40": answering("memotherm.recall.pipeline:Pipeline.finish", lambda found: replace(found, degraded=())),
    "O41": returning(f"{_SEARCH}:age_factor", 1.0),
    "O42": calling(f"{_FILES}:Layout.__init__", extra=()),
    "O43": constant("memotherm.notes.sync:_TRANSCRIPT_MESSAGES", MANY),
    "O44": answering(f"{_NOTES}.refresh", lambda found: (False, ())),
    "O45": returning("memotherm.notes.index:NoteWriter.drop", None),
    "O46": instead("memotherm.text.words:_raw", _ascii),
    "O47": returning("memotherm.session:Session.context_compacted", None),
    "O48": instead("memotherm.text.content:without_blocks", lambda original: lambda text: text),
    "O49": _flush(system=lambda flush: f"{flush.system} Today's note is {flush.file}."),
    "O50": calling(f"{_NOTES}.search", min_score=0.0),
    "O51": settings(embedder="openai"),
    "O52": _flush(system=lambda flush: flush.prompt),
    "O53": settings(transcript_paths=("/nowhere",)),
    "O54": returning(f"{_SEARCH}:chat_of", None),
    "O55": without_name("chunking.tokens"),
}
