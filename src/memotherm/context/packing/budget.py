"""The limits of a context, and how hot and recalled memories share what pinned memories leave."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits", "min_rest_for_hot", "min_rest_for_recalled", "split"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """The most tokens that a context, and its parts, may cost."""

    budget: int
    #: The hot section: its tokens, frame included, and its memories.
    hot_tokens: int
    hot_memories: int
    #: Reserved for recalled memories, if they need it.
    reserve: int
    #: The most tokens of the recalled section; None for no limit of its own.
    recalled_tokens: int | None = None
    #: The most tokens of one memory, except pinned ones.
    entry_tokens: int = 500
    #: When the pinned memories exceed the budget: `cut` the oldest, or raise an `error`.
    on_pinned_overflow: str = "cut"


def split(rest: int, hot: int, recalled: int, reserve: int) -> tuple[int, int]:
    """Return the tokens for hot and for recalled memories, which need `hot` and `recalled` tokens in full."""
    reserved = min(reserve, rest // 2)
    if recalled <= reserved:
        return rest - recalled, recalled
    if hot <= rest - reserved:
        return hot, rest - hot
    return rest - reserved, reserved


def min_rest_for_hot(needed: int, recalled: int, reserve: int) -> int:
    """Return the smallest `rest` of which `split` gives hot memories `needed` tokens."""
    least = min(needed + reserve, 2 * needed - 1)
    return min(least, max(2 * recalled, needed + recalled)) if recalled <= reserve else least


def min_rest_for_recalled(needed: int, hot: int, reserve: int) -> int:
    """Return the smallest `rest` of which `split` gives recalled memories `needed` tokens."""
    return min(hot + needed, 2 * needed) if needed <= reserve else hot + needed
