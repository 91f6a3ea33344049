"""Settings: sessions."""

from __future__ import annotations

from dataclasses import dataclass

from memotherm.settings.declaration import setting

__all__ = ["SessionSettings"]


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class SessionSettings:
    """The working memory of a session, and the flush before its context is cut."""

    __slots__ = ()

    hot_token_limit: int = setting(4000, "The most tokens of hot memories in one session.", project=True)
    auto_spill: bool = setting(True, "Whether older hot memories are spilled when a new one needs space.", project=True)
    auto_promote: bool = setting(True, "Whether a session's recall promotes hits to hot.", project=True)
    warm_access_threshold: int = setting(
        3, "A spilled memory with at least this many uses becomes warm, another one cold.", project=True
    )
    spill_suggested_at: float = setting(
        0.9, "The share of `hot_token_limit` at which the status suggests to spill.", high=1, project=True
    )
    max_cold_items: int = setting(
        1000, "The number of cold memories above which the status suggests to prune, and that `prune` leaves."
    )
    flush_reserve_tokens: int = setting(
        20_000, "Tokens at the end of the context window that the host reserves for its answer.", project=True
    )
    flush_soft_tokens: int = setting(4000, "Tokens before that reserve at which a flush becomes due.", project=True)
    flush_on_heartbeat: bool = setting(
        False, "Whether a flush may be due in a turn that the host started itself.", project=True
    )
    flush_in_hooks: bool = setting(
        True, "Whether the hook of a prompt asks the agent to save memories when a flush is due.", project=True
    )
    flush_prompt: str = setting(
        "",
        "The prompt of a flush; {file} is the file to append to, {curated} the curated note, {token} the silent token; "
        "empty: the built-in one.",
    )
    flush_system_prompt: str = setting("", "The system prompt of a flush; empty: the built-in one.")
    silent_token: str = setting("NO_REPLY", "What the agent replies to a flush when there is nothing to save.")
