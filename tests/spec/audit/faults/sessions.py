"""Faults of the document about the working memory of sessions (C)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from memotherm import Tier
from tests.spec.audit.faults.breaks import (
    MANY,
    Fault,
    answering,
    calling,
    constant,
    instead,
    prop,
    returning,
    searching,
    settings,
    stored,
    without,
    without_name,
    without_rules,
)

_SESSION = "memotherm.session:Session"
_WORKING = "memotherm.tiers.working_memory:WorkingMemory"


def _metrics(**changes: Callable[[Any], object]) -> Fault:
    """Report other metrics."""
    return answering(
        "memotherm.tiers.tier_history:metrics",
        lambda found: replace(found, **{name: change(getattr(found, name)) for name, change in changes.items()}),
    )


def _without_index(scripts: list[str]) -> list[str]:
    return [re.sub(r"CREATE INDEX memories_by_place [^;]*;", "", script) for script in scripts]


def _hot_whatever_its_size(original: Any) -> Any:
    def fitted(self: Any, transaction: Any, space: int, memory: Any, cause: Any) -> Any:
        fits = memory.tokens <= self._settings.hot_token_limit
        return original(self, transaction, space, memory, cause) if fits else memory

    return fitted


def _read_without_use(original: Any) -> Any:
    return lambda self: [each.memory for each in self._services.working.hot(self._space, self._view.now())]


def _added_once(original: Any) -> Any:
    """Return the memory that a session has already."""

    def add(self: Any, content: str, *given: Any, **options: Any) -> Any:
        return next((each for each in self.hot() if each.content == content), None) or original(
            self, content, *given, **options
        )

    return add


def _any_record(original: Any) -> Any:
    return lambda transaction, space, memory_id: transaction.get(memory_id)


def _except(name: str) -> Callable[[Any], Any]:
    return lambda found: {each: value for each, value in found.items() if each != name}


FAULTS: Mapping[str, Fault] = {
    "C01": settings(hot_token_limit=61),
    "C02": prop("memotherm.model.memory:Memory.session_id", None),
    "C03": constant("memotherm.remember.draft:_KIND", re.compile("message|fact")),
    "C04": prop("memotherm.model.results:SessionStatus.utilization_percent", 0.0),
    "C05": answering(f"{_WORKING}._suggestions", lambda found: [replace(each, reason="full") for each in found]),
    "C06": answering("memotherm.recall.recaller:Recaller.answer", lambda found: replace(found, promoted=())),
    "C07": stored(relevance=1.0),
    "C08": answering("memotherm.storage.statements:migrations", _without_index),
    "C09": stored(relevance=0.5),
    "C10": settings(auto_spill=False),
    "C11": answering(f"{_WORKING}.hot", lambda found: found[::-1]),
    "C12": calling(f"{_SESSION}.spill", ids=None),
    "C13": calling(f"{_SESSION}.spill", count=3),
    "C14": answering("memotherm.tiers.rules.conditions:Select.sorted", lambda found: found[::-1]),
    "C15": settings(warm_access_threshold=4),
    "C16": prop("memotherm.model.results:Spill.target_tier", "warm"),
    "C17": calling(f"{_SESSION}.recall", limit=lambda limit: 2 if limit == 3 else limit),
    "C18": searching(tiers=tuple(Tier)),
    "C19": returning("memotherm.recall.recaller:_averages", []),
    "C20": settings(auto_promote=True),
    "C21": searching(kinds=None),
    "C22": answering("memotherm.tiers.engine:moved", lambda memory: replace(memory, relevance=0.9)),
    "C23": answering(f"{_WORKING}.status", lambda status: replace(status, warm=status.cold, cold=status.warm)),
    "C24": constant("memotherm.tiers.working_memory:_NEARLY_FULL", 0.95),
    "C25": settings(max_cold_items=1000),
    "C26": returning(f"{_WORKING}._fitting_spills", ()),
    "C27": settings(mcp_tools=("core",)),
    "C28": settings(auto_spill=True),
    "C29": settings(promote_access_count=MANY, promote_threshold=1.0),
    "C30": answering(
        f"{_WORKING}.status",
        lambda status: replace(status, cold=replace(status.cold, tokens=status.cold.tokens + status.warm.tokens)),
    ),
    "C31": settings(warm_access_threshold=0),
    "C32": searching(tiers=without(Tier.COLD)),
    "C33": without_rules("promote.use"),
    "C34": _metrics(hot_utilization=lambda value: value / 2),
    "C35": _metrics(spill_count=lambda value: value * 2),
    "C36": _metrics(recall_count=lambda value: value + 1),
    "C37": _metrics(promotion_count=lambda value: max(1, value)),
    "C38": _metrics(recall_latency_ms=lambda value: 0.0, cold_recall_latency_ms=lambda value: 0.0),
    "C39": _metrics(hit_rate=lambda value: 1.0),
    "C40": calling(f"{_WORKING}.end", state="archived"),
    "C41": instead(f"{_WORKING}._own", _any_record),
    "C42": instead(f"{_WORKING}._fitted", _hot_whatever_its_size),
    "C43": instead(f"{_SESSION}.hot", _read_without_use),
    "C44": returning(f"{_SESSION}.prune", []),
    "C45": instead(f"{_SESSION}.add", _added_once),
    "C46": answering("memotherm.operations.forms:with_item_names", _except("lastAccessedAt")),
    "C47": answering("memotherm.mcp.server:_parameter", _except("default")),
    "C48": without_name("agent.memory.promoteThreshold"),
}
