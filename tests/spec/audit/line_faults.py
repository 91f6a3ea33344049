"""A fault of its own for each line that shares its check with others: at least one check of the line must notice it.

Lines that are alone in their check have the fault of that check, in `faults`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.spec.audit import faults
from tests.spec.audit.faults import Fault

__all__ = ["LINE_FAULTS"]

_settings, _returning, _answering = faults.settings_of, faults.returning, faults.answering
_searching, _stored, _priority = faults.searching, faults.stored, faults.priority_of
_NEVER = 10**6


def _calling(place: str, **values: object) -> Fault:
    """Call a function with other arguments than a caller gave."""
    return {place: lambda original: lambda *given, **options: original(*given, **{**options, **values})}


def _metrics(**changes: Callable[[Any], object]) -> Fault:
    """Report other metrics."""
    return _answering(
        "memotherm.tiers.tier_history:metrics",
        lambda found: replace(found, **{name: change(getattr(found, name)) for name, change in changes.items()}),
    )


def _hot_block(keep: Callable[[Any], bool]) -> Fault:
    """Leave memories out of the hot block."""
    place = "memotherm.context.assembler:Assembler._hot"
    return _answering(place, lambda records: [record for record in records if keep(record.memory)])


def _without(tier: str) -> Fault:
    return _searching(tiers=lambda tiers: [each for each in tiers if each != tier])


def _other_numbers(original: Any) -> Any:
    return lambda tier, *more: original(tier + 1 if isinstance(tier, int) and tier < 4 else tier, *more)


def _no_priorities(original: Any) -> Any:
    return lambda tier, *more: original(tier if str(tier) in ("hot", "warm", "cold") else None, *more)


def _all_limited(original: Any) -> Any:
    return lambda priority, settings: 5


def _boosts(**values: float) -> Fault:
    return _settings(**{f"boost_{name}": value for name, value in values.items()})


def _append_to_existing(original: Any) -> Any:
    return lambda file, text: original(file, text) if file.exists() else (1, 1, True)


def _searched_notes(**values: object) -> Fault:
    def changed(original: Any) -> Any:
        def search(self: Any, query: str, max_results: int = 6, min_score: float = 0.35, **options: Any) -> Any:
            given = {"max_results": max_results, "min_score": min_score, **options, **values}
            return original(self, query, **given)

        return search

    return {"memotherm.notes.notes:Notes.search": changed}


def _anywhere(original: Any) -> Any:
    return lambda self, path: str(Path(path))


def _must_exist(original: Any) -> Any:
    def read(*given: Any) -> Any:
        found = original(*given)
        if not found:
            raise FileNotFoundError(given[1])
        return found

    return read


def _reasonless(suggestions: list[Any]) -> list[Any]:
    return [replace(each, reason="full") for each in suggestions]


def _exchanged(status: Any) -> Any:
    return replace(status, warm=status.cold, cold=status.warm)


_SPILL = "memotherm.session:Session.spill"
_RECALL = "memotherm.session:Session.recall"

LINE_FAULTS: Mapping[str, Callable[[], Fault]] = {
    # Hot, warm and cold
    "H04": lambda: _calling("memotherm.session:Session.session_start", budget=0),
    "H05": lambda: _hot_block(lambda memory: memory.index),
    "H07": lambda: _hot_block(lambda memory: "blocker" not in memory.tags),
    "H08": lambda: _hot_block(lambda memory: False),
    "H09": lambda: _searching(tiers=faults.tiers("warm", "cold")),
    "H12": lambda: _without("hot"),
    "H13": lambda: _without("cold"),
    "H15": lambda: _settings(compaction_on_session_end=False),
    "H16": lambda: _settings(compaction_on_session_end=True),
    "H18": lambda: _settings(decision_cold_after_days=36_000),
    "H19": lambda: _settings(task_cold_after_days=36_000),
    "H20": lambda: _settings(inactive_preference_days=11),
    "H21": lambda: _settings(inactive_preference_days=0),
    "H23": lambda: _settings(hot_max_tokens=_NEVER),
    "H24": lambda: _settings(hot_max_facts=_NEVER),
    "H31": lambda: _settings(hot_max_facts=51),
    # Priorities
    "E01": lambda: {"memotherm.model.memory:placement": _other_numbers},
    "E02": lambda: _stored(priority=_priority("low")),
    "E03": lambda: {"memotherm.model.memory:placement": _no_priorities},
    "E04": lambda: {
        "memotherm.facade.view:View.move": lambda original: lambda self, memory_id, *more: self.record(memory_id).memory
    },
    "E05": lambda: {"memotherm.memory:Memotherm.pin": lambda original: lambda self, memory_id: self.get(memory_id)},
    "E06": lambda: {"memotherm.memory:Memotherm.unpin": lambda original: lambda self, memory_id: self.get(memory_id)},
    "E07": faults.no_pins,
    "E08": lambda: _boosts(critical=0.0),
    "E09": lambda: _boosts(important=0.0),
    "E14": lambda: _boosts(low=-0.2),
    "E16": lambda: _stored(priority=_priority("important")),
    "E19": lambda: _boosts(critical=0.0, important=0.0, normal=0.0, low=0.0),
    "E20": lambda: _settings(max_pinned=6),
    "E22": lambda: _settings(max_critical=11),
    "E23": lambda: {"memotherm.remember.limits:_most": _all_limited},
    "E24": lambda: _settings(on_tier_limit="reject"),
    "E26": faults.no_pins,
    "E28": lambda: {
        "memotherm.facade.view:View.context": lambda original: (
            lambda self, query, *given, **options: original(self, None, *given, **options)
        )
    },
    "E32": lambda: _stored(priority=_priority("normal")),
    "E33": faults.no_pins,
    "E35": lambda: _boosts(low=0.5),
    "E36": lambda: _settings(max_pinned=_NEVER),
    "E38": lambda: _stored(priority=_priority("critical")),
    "E39": lambda: _calling("memotherm.memory:Memotherm.context", budget=0),
    "E40": lambda: _boosts(critical=0.3, important=0.3, normal=0.3, low=0.3),
    "E41": lambda: _settings(on_tier_limit="demote_oldest"),
    "E42": lambda: {"memotherm.remember.changes:Changes.prioritize": faults.unchanged},
    "E43": lambda: _stored(priority=_priority("normal")),
    "E50": lambda: _settings(max_pinned=6),
    # Sessions
    "C01": lambda: _settings(hot_token_limit=61),
    "C02": lambda: _stored(metadata={}),
    "C03": lambda: _settings(kinds=("message", "fact")),
    "C04": lambda: {"memotherm.model.results:SessionStatus.utilization_percent": lambda _: property(lambda self: 0.0)},
    "C05": lambda: _answering("memotherm.tiers.working_memory:WorkingMemory._suggestions", _reasonless),
    "C06": lambda: _answering("memotherm.recall.recaller:Recaller.recall", lambda found: replace(found, promoted=())),
    "C07": lambda: _stored(relevance=1.0),
    "C09": lambda: _stored(relevance=0.5),
    "C10": lambda: _settings(auto_spill=False),
    "C11": lambda: _answering("memotherm.tiers.working_memory:WorkingMemory.hot", lambda found: found[::-1]),
    "C12": lambda: _calling(_SPILL, ids=None),
    "C13": lambda: _calling(_SPILL, count=3),
    "C14": lambda: _answering("memotherm.tiers.rules.select:Select.sorted", lambda found: found[::-1]),
    "C16": lambda: _settings(warm_access_threshold=0),
    "C17": lambda: {
        _RECALL: lambda original: (
            lambda self, query, limit=3, *more, **options: original(self, query, min(limit, 2), *more, **options)
        )
    },
    "C19": lambda: _returning("memotherm.storage.recall_log:count_uses", None),
    "C20": lambda: _settings(auto_promote=True),
    "C22": lambda: _answering("memotherm.tiers.engine:moved", lambda memory: replace(memory, relevance=0.9)),
    "C23": lambda: _answering("memotherm.tiers.working_memory:WorkingMemory.status", _exchanged),
    "C24": lambda: {"memotherm.tiers.working_memory:_NEARLY_FULL": lambda original: 0.99},
    "C25": lambda: _settings(max_cold_items=1000),
    "C27": lambda: _settings(mcp_tools=("core",)),
    "C31": lambda: _settings(warm_access_threshold=0),
    "C32": lambda: _without("cold"),
    "C33": lambda: _settings(promote_access_count=_NEVER),
    "C34": lambda: _metrics(hot_utilization=lambda value: value / 2),
    "C35": lambda: _metrics(spill_count=lambda value: value * 2),
    "C36": lambda: _metrics(recall_count=lambda value: value + 1),
    "C37": lambda: _metrics(promotion_count=lambda value: max(1, value)),
    "C38": lambda: _metrics(recall_latency_ms=lambda value: 0.0, cold_recall_latency_ms=lambda value: 0.0),
    "C39": lambda: _metrics(hit_rate=lambda value: 1.0),
    "C42": lambda: _settings(hot_token_limit=_NEVER),
    "C44": lambda: _returning("memotherm.session:Session.prune", []),
    "C48": lambda: _settings(warm_access_threshold=4),
    # Tiers, retention and queries
    "M02": lambda: _settings(default_tier="warm"),
    "M03": lambda: _searching(tags=None),
    "M04": lambda: _searching(tiers=faults.tiers("hot", "warm", "cold")),
    "M05": lambda: _settings(ttl_warm_days=0),
    "M06": lambda: _settings(default_tier="hot"),
    "M07": lambda: _without("cold"),
    "M08": lambda: {"memotherm.facade.view:View.retain": faults.retain_nothing},
    "M09": lambda: {
        "memotherm.memory:Memotherm.recall": lambda original: (
            lambda self, query, limit=10, *more, **options: original(self, query, 1, *more, **options)
        )
    },
    "M10": lambda: _without("cold"),
    "M11": lambda: _searching(where=None),
    "M13": lambda: _settings(cool_hot_days=36_525, promote_access_count=_NEVER),
    "M14": lambda: _settings(promote_access_count=_NEVER),
    "M15": lambda: _settings(cool_hot_days=36_525),
    "M16": lambda: _answering("memotherm.remember.changes:Changes.move", faults.renamed),
    "M18": lambda: _answering(
        "memotherm.remember.changes:Changes.move",
        lambda memory: replace(memory, scope=replace(memory.scope, user=None)),
    ),
    "M20": lambda: _settings(default_tier="cold"),
    "M25": lambda: _returning("memotherm.rest.routes.query:QueryRequest.filter", None),
    # Notes
    "O01": lambda: _returning("memotherm.notes.flush:is_due", True),
    "O02": lambda: _settings(flush_soft_tokens=0),
    "O04": lambda: _answering("memotherm.notes.flush:flush_for", lambda flush: replace(flush, file="notes.md")),
    "O05": lambda: _answering(
        "memotherm.notes.flush:flush_for", lambda flush: replace(flush, prompt=f"{flush.prompt} Call memory_add.")
    ),
    "O08": lambda: {"memotherm.notes.edits:append": _append_to_existing},
    "O11": lambda: _answering("memotherm.notes.files:list_files", lambda found: type(found)()),
    "O16": lambda: _settings(sync_on_search=False),
    "O17": lambda: _settings(watch_notes=False),
    "O18": lambda: _searched_notes(max_results=6),
    "O20": lambda: _searched_notes(max_results=5),
    "O22": lambda: _settings(citations="off"),
    "O24": lambda: {"memotherm.notes.search:excerpt": faults.one_line_later},
    "O26": lambda: _settings(citations="off"),
    "O28": lambda: _settings(experimental_session_memory=False),
    "O31": lambda: {"memotherm.notes.edits:append": faults.overwriting},
    "O33": lambda: {"memotherm.notes.files:Layout.resolve": _anywhere},
    "O34": lambda: {"memotherm.notes.search:read_lines": _must_exist},
    "O35": lambda: _answering("memotherm.recall.evidence:GatherEvidence._coverage", lambda found: found * 0 + 1),
    "O39": lambda: _settings(fallback_embedder=""),
    "O40": lambda: _answering("memotherm.recall.pipeline:Pipeline.finish", lambda found: replace(found, degraded=())),
    "O44": lambda: _returning("memotherm.notes.notes:Notes.refresh", (False, ())),
    "O45": lambda: _returning("memotherm.notes.index:NoteWriter.drop", None),
    "O50": lambda: _searched_notes(min_score=0.0),
    "O55": lambda: _settings(chunk_tokens=401),
}
