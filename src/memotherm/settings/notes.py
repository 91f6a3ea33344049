"""Settings: notes."""

from __future__ import annotations

from dataclasses import dataclass

from memotherm.settings.declaration import MAX_DAYS, setting

__all__ = ["NoteSettings"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class NoteSettings:
    """How Markdown notes and transcripts are indexed and searched."""

    __slots__ = ()

    notes_root: str = setting("", "The folder whose notes `memory_search` and `memory_get` read; empty: none.")
    note_paths: tuple[str, ...] = setting(
        (), "Files and folders inside the root that are indexed in addition to MEMORY.md and memory/."
    )
    note_max_bytes: int = setting(32_000_000, "The largest file that is indexed, in bytes.", low=1, project=True)
    chunk_tokens: int = setting(400, "The size of a chunk, in tokens.", low=16, project=True)
    chunk_overlap: int = setting(80, "How many tokens of a chunk the next one repeats.", project=True)
    sync_on_session_start: bool = setting(
        True, "Whether the start of a session synchronises the known folders.", project=True
    )
    sync_on_search: bool = setting(True, "Whether a search synchronises its folder first.", project=True)
    watch_notes: bool = setting(True, "Whether the server watches the files of `notes_root`.", project=True)
    watch_debounce_ms: int = setting(
        1500, "How long files must be unchanged before the watcher synchronises them.", project=True
    )
    note_hot_tokens: int = setting(
        1000, "How many tokens of the curated file are hot; the rest of it is warm.", project=True
    )
    note_cold_days: float = setting(30, "Days after which a dated note becomes cold.", high=MAX_DAYS, project=True)
    citations: str = setting(
        "auto",
        "Whether results show their citation: in direct chats (auto), always, or never.",
        choices=("auto", "on", "off"),
        project=True,
    )
    note_decay: bool = setting(False, "Whether older dated notes score less.", project=True)
    note_half_life_days: float = setting(
        30, "Days after which a dated note scores half, if `note_decay` is on.", low=0.001, high=MAX_DAYS, project=True
    )
    note_diversity: bool = setting(False, "Whether results that repeat each other are ranked lower.", project=True)
    note_diversity_lambda: float = setting(
        0.7, "The weight of relevance against diversity, if `note_diversity` is on.", high=1, project=True
    )
    experimental_session_memory: bool = setting(
        False, "Whether transcripts of sessions (JSONL) are indexed with the notes."
    )
    transcript_paths: tuple[str, ...] = setting((), "The transcripts to index.")
    transcript_bytes: int = setting(
        100_000, "A transcript is indexed again when it has grown by this many bytes.", project=True
    )
    transcript_messages: int = setting(
        50, "A transcript is indexed again when it has grown by this many messages.", project=True
    )
