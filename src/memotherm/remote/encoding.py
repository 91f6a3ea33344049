"""Values as JSON, complete enough for the client to build them again; `decoding` is its counterpart."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from memotherm.context.values import Context
from memotherm.model import Memory
from memotherm.model.reports import Metrics

__all__ = ["considered_json", "memory_json", "metrics_json"]

Json = dict[str, Any]


def memory_json(memory: Memory) -> Json:
    """Return a memory with its times and rules."""
    return {
        **memory.as_dict(),
        "last_used_at": None if memory.last_used_at is None else memory.last_used_at.isoformat(),
        "use_weight": memory.use_weight,
        "recent_uses": memory.recent_uses,
        "tier_since": memory.tier_since.isoformat(),
        "tier_rule": memory.tier_rule,
        "retention_since": memory.retention_since.isoformat(),
    }


def considered_json(context: Context) -> list[Json]:
    """Return the memories that were considered for a context, each once."""
    entries = (*context.included, *context.left_out)
    return [memory_json(memory) for memory in {entry.id: entry.memory for entry in entries}.values()]


def metrics_json(metrics: Metrics) -> Json:
    """Return all metrics except the histograms."""
    names = (field.name for field in fields(metrics) if field.name not in ("live_recalls", "cold_recalls", "moves"))
    return {**{name: getattr(metrics, name) for name in names}, "moves": dict(metrics.moves)}
