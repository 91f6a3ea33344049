"""Settings: memories."""

from __future__ import annotations

from dataclasses import dataclass

from memotherm.settings.declaration import MAX_DAYS, setting

__all__ = ["MAX_METADATA_CHARS", "MemorySettings"]

#: The longest metadata unless the setting says otherwise.
MAX_METADATA_CHARS = 65_536


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class MemorySettings:
    """What a new memory may be, and where it starts."""

    __slots__ = ()

    default_tier: str = setting(
        "warm", "The tier of a memory that is stored without one.", choices=("hot", "warm", "cold"), project=True
    )
    ttl_hot_days: float = setting(
        7, "A memory with at least this time to live starts hot.", high=MAX_DAYS, project=True
    )
    ttl_warm_days: float = setting(
        1,
        "A memory with at least this time to live, and less than `ttl_hot_days`, starts warm; a shorter one cold.",
        high=MAX_DAYS,
        project=True,
    )
    max_content_chars: int = setting(1_000_000, "The longest content accepted, in characters.", low=1, project=True)
    max_metadata_chars: int = setting(
        MAX_METADATA_CHARS, "The longest metadata accepted, in characters of JSON.", low=2, project=True
    )
    kinds: tuple[str, ...] = setting((), "The kinds accepted; empty: any well-formed word.", project=True)
    deduplicate: bool = setting(True, "Whether the same content in the same scope is stored once.", project=True)
    duplicate_window_hours: float = setting(
        0,
        "Hours after which the same content is stored as a new memory; 0: it is stored once.",
        high=24 * MAX_DAYS,
        project=True,
    )
    skip_filler: bool = setting(
        True,
        'Whether `capture` and the tool `store_memory` skip content such as "ok, thanks".',
        project=True,
    )
    capture_min_chars: int = setting(10, "`capture` skips content with fewer characters.", project=True)
    redact: bool = setting(
        True,
        "Whether `capture`, hooks, transcripts and imports replace credentials and `<private>` passages by a mark.",
    )
    redact_patterns: tuple[str, ...] = setting(
        (), "More to redact: regular expressions without groups and alternatives, such as ACME-[A-Z0-9]{16}."
    )
    capture_exclude: tuple[str, ...] = setting(
        (), "Projects and folders, with all inside them, whose conversations are not captured; `*` stands for any text."
    )
    max_pinned: int = setting(5, "The most memories of one scope that may be pinned.", project=True)
    max_critical: int = setting(10, "The most memories of one scope that may be critical.", project=True)
    on_tier_limit: str = setting(
        "reject",
        "What happens when a priority is full: raise an error, or give the oldest memory a lower priority.",
        choices=("reject", "demote_oldest"),
        project=True,
    )
    tokenizer: str = setting(
        "o200k_base", "What counts tokens: a vocabulary, a model's name, or the path of a tokenizer.json."
    )
    timezone: str = setting(
        "", "The user's time zone, such as Europe/Berlin, for the date of a note; empty: the system's.", project=True
    )
