"""Values as JSON, the same in every interface."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import fields
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memotherm.model import Event, Hit, Memory, Move, Recall
from memotherm.model.recall import Feedback
from memotherm.model.reports import Erased, Everything, Heat, Metrics, Status, TierPoint, Uses
from memotherm.model.results import LoggedRecall, ScopeCount, SessionStatus, TierCount
from memotherm.tiers.adoption import Adoption, Rollback, ShadowReport

if TYPE_CHECKING:
    from memotherm.notes import Curated, Flush, NoteHit, NoteResults, NoteText
    from memotherm.tiers.lab.replay import Replay
    from memotherm.tiers.policy import Difference, Finding, Policy
    from memotherm.tiers.policy_checks import CaseResult

__all__ = [
    "Json",
    "added_json",
    "adoption_json",
    "case_json",
    "curated_json",
    "difference_json",
    "erased_json",
    "event_json",
    "everything_json",
    "feedback_json",
    "finding_json",
    "flush_json",
    "found_json",
    "hit_json",
    "logged_recall_json",
    "memory_json",
    "metrics_json",
    "move_json",
    "note_hit_json",
    "note_results_json",
    "note_text_json",
    "policy_json",
    "read_json",
    "recall_json",
    "remembered_json",
    "replay_json",
    "rollback_json",
    "scope_count_json",
    "score_json",
    "secret_warnings",
    "session_status_json",
    "shadow_json",
    "status_json",
    "tier_point_json",
    "uses_json",
]

Json = dict[str, Any]


def recall_json(recall: Recall) -> Json:
    """Return the result of a recall."""
    return {"items": [hit_json(hit) for hit in recall], **found_json(recall)}


def found_json(recall: Recall) -> Json:
    """Return what a recall says beside its hits."""
    return {
        "pinned": [hit.memory.id for hit in recall.pinned],
        "promoted": list(recall.promoted),
        "relevanceScores": {hit.memory.id: round(hit.why.relevance, 4) for hit in recall},
        "tiers": [str(tier) for tier in recall.tiers],
        "confidence": recall.confidence,
        "degraded": list(recall.degraded),
        "recall_id": recall.recall_id,
        **({"hint": recall.hint} if recall.hint else {}),
    }


def feedback_json(feedback: Feedback) -> Json:
    """Return the uses that feedback has counted."""
    return {
        "recall_id": feedback.recall_id,
        "confirmed": list(feedback.confirmed),
        "reflected": list(feedback.reflected),
    }


def hit_json(hit: Hit) -> Json:
    """Return a hit: the memory, its score and the reasons."""
    return {**memory_json(hit.memory), **score_json(hit)}


def score_json(hit: Hit) -> Json:
    """Return the score of a hit and the reasons."""
    return {"score": round(hit.score, 4), "why": str(hit.why)}


def memory_json(memory: Memory) -> Json:
    """Return a memory."""
    return memory.as_dict()


def remembered_json(memory: Memory, secrets: Sequence[str]) -> Json:
    """Return a memory that was stored, and a warning if it seems to contain secrets."""
    return {**memory_json(memory), "warnings": secret_warnings(secrets)}


def secret_warnings(secrets: Sequence[str]) -> list[str]:
    """Return a warning for what a stored content seems to contain."""
    if not secrets:
        return []
    return [f"it seems to contain {', '.join(secrets)} and was stored as it is: purge it if it is a secret"]


def read_json(memory: Memory, heat: Heat) -> Json:
    """Return a memory that was read by its id, with its heat and decay."""
    return {**memory_json(memory), "heat": round(heat.heat, 4), "decay": round(heat.decay, 4)}


def added_json(memory: Memory, hot_token_limit: int, secrets: Sequence[str] = ()) -> Json:
    """Return a memory that was added to a session, the rule of its tier, and warnings: not hot, contains secrets."""
    reasons = {
        "session.oversized": f"its {memory.tokens} tokens are more than the whole hot limit of {hot_token_limit} "
        "(hot_token_limit)",
        "session.full": "what is hot cannot be spilled, and it does not fit beside it",
    }
    warnings = [f"stored in {memory.tier}: {reasons[memory.tier_rule]}"] if memory.tier_rule in reasons else []
    return {**memory_json(memory), "rule": memory.tier_rule, "warnings": [*warnings, *secret_warnings(secrets)]}


def _iso(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def move_json(move: Move) -> Json:
    """Return a move: the memory, both tiers, the rule and the reason, and the retention if it changes."""
    retention = {} if move.retention is None else {"retention": str(move.retention)}
    tiers = {"from": str(move.from_tier), "to": str(move.to)}
    return {"id": move.id, **tiers, **retention, "rule": move.rule, "why": move.why, **_policy_json(move)}


def erased_json(erased: Erased) -> Json:
    """Return what was erased."""
    values = {field.name: getattr(erased, field.name) for field in fields(erased)}
    return {**values, "scope": dict(erased.scope.items()), "folders": list(erased.folders)}


def everything_json(stored: Everything) -> Iterator[Json]:
    """Yield what is stored at and below a scope, each with its `type`: memory, event, receipt or recall."""
    yield from ({"type": "memory", **memory_json(memory)} for memory in stored.memories)
    yield from ({"type": "event", **event_json(event)} for event in stored.events)
    yield from ({"type": "receipt", **receipt.as_dict()} for receipt in stored.receipts)
    yield from ({"type": "recall", **logged_recall_json(recall)} for recall in stored.recalls)


def logged_recall_json(recall: LoggedRecall) -> Json:
    """Return an entry of the recall log."""
    return {
        "at": recall.at.isoformat(),
        "query": recall.query,
        "tiers": [str(tier) for tier in recall.tiers],
        "returned": recall.returned,
    }


def uses_json(uses: Uses) -> Json:
    """Return where a memory was returned and injected."""
    return {
        "recalls": [logged_recall_json(recall) for recall in uses.recalls],
        "receipts": [receipt.as_dict() for receipt in uses.receipts],
    }


def tier_point_json(point: TierPoint) -> Json:
    """Return how many memories each tier had."""
    return {"at": point.at.isoformat(), "hot": point.hot, "warm": point.warm, "cold": point.cold}


def event_json(event: Event) -> Json:
    """Return an event of the ledger."""
    return {
        "seq": event.seq,
        "at": event.at.isoformat(),
        "id": event.memory_id,
        "action": event.action,
        "actor": event.actor,
        "rule": event.rule,
        "why": event.why,
        "changes": {name: {"from": before, "to": after} for name, (before, after) in event.changes.items()},
        **_policy_json(event),
    }


def _policy_json(decided: Move | Event) -> Json:
    """Return the hash of the adopted policy whose rule decided it, if one did."""
    return {"policy": decided.policy} if decided.policy else {}


def policy_json(policy: Policy) -> Json:
    """Return a policy: its limits, and its rules in the order in which they are asked."""
    return {
        "name": policy.name,
        "hash": policy.digest,
        "description": policy.description,
        "limits": policy.limits,
        "rules": list(_rules_json(policy)),
        "text": policy.text,
    }


def _rules_json(policy: Policy) -> Iterator[Json]:
    """Yield the rules of a policy and of those it extends, in order."""
    tables = {table["id"]: table for table in tomllib.loads(policy.text).get("rule", ())}
    for rule in policy.own_rules:
        targets = [str(tier) for tier, _ in rule.targets] or ["stay"]
        to = " or ".join(targets)
        conditions = {name: _alternatives(tables[rule.id].get(name, [])) for name in ("when", "unless")}
        yield {"id": rule.id, "run": rule.run, "to": to, "why": rule.why, "origin": policy.name, **conditions}
    if policy.base is not None:
        yield from _rules_json(policy.base)


def _alternatives(condition: Json | list[Json]) -> list[Json]:
    """Return the tables of a condition, of which one must hold."""
    return condition if isinstance(condition, list) else [condition]


def finding_json(finding: Finding) -> Json:
    """Return what lint found."""
    return {
        "code": finding.code,
        "severity": "warning" if finding.warning else "error",
        "line": finding.line,
        "path": ".".join(map(str, finding.path)),
        "message": finding.message,
    }


def case_json(result: CaseResult) -> Json:
    """Return the result of a test of a policy."""
    return {"name": result.name, "passed": result.passed, "detail": result.detail}


def difference_json(difference: Difference) -> Json:
    """Return a memory that two policies would leave in different tiers."""
    return {
        "id": difference.memory.id,
        "content": difference.memory.content,
        "tier": str(difference.memory.tier),
        "run": difference.run,
        "first": None if difference.first is None else move_json(difference.first),
        "second": None if difference.second is None else move_json(difference.second),
    }


def adoption_json(adoption: Adoption) -> Json:
    """Return an adoption of a policy."""
    return {
        "number": adoption.number,
        "at": adoption.at.isoformat(),
        "actor": adoption.actor,
        "action": adoption.action,
        "name": adoption.name,
        "hash": adoption.hash,
    }


def replay_json(found: Replay) -> Json:
    """Return the report of a replay; shares are from 0 to 1."""
    return {
        "questions": found.questions,
        "asked_again": found.askable,
        "demanded": found.demanded,
        "policies": [
            {
                "name": row.name,
                "live_hits": row.live_hits,
                "interval": [row.interval.low, row.interval.high],
                "hot_hits": row.hot_hits,
                "tokens_per_turn": row.tokens_per_turn,
                "live_mean": row.live_mean,
                "live_max": row.live_max,
                "moves": row.moves,
                "flaps": row.flaps,
                "cold_asked": row.cold_asked,
                "regret": row.regret,
                "note": row.note,
            }
            for row in found.rows
        ],
        "differences": [
            {"first": first, "second": second, "interval": [interval.low, interval.high]}
            for (first, second), interval in found.differences.items()
        ],
        "causes": [
            {
                "policy": cause.policy,
                "id": cause.id,
                "content": cause.content,
                "rule": cause.rule,
                "times": cause.times,
            }
            for cause in found.causes
        ],
        "regret_by_rule": found.regret_by_rule,
        "notes": list(found.notes),
    }


def rollback_json(rollback: Rollback) -> Json:
    """Return the rollback of a policy."""
    return {
        "name": rollback.name,
        "hash": rollback.hash,
        "adoption": adoption_json(rollback.adoption),
        "moves": [move_json(move) for move in rollback.moves],
        "skipped": [{"id": skipped.id, "why": skipped.why} for skipped in rollback.skipped],
    }


def shadow_json(report: ShadowReport) -> Json:
    """Return the report about a policy in the shadow."""
    return {
        "name": report.name,
        "hash": report.hash,
        "since": report.since.isoformat(),
        "recalls": report.recalls,
        "missed": report.missed,
        "spared": report.spared,
        "differing": [
            {"shadow": str(shadow), "tier": str(tier), "memories": count.memories, "tokens": count.tokens}
            for (shadow, tier), count in report.differing.items()
        ],
    }


def flush_json(flush: Flush) -> Json:
    """Return a flush: its prompts, the file to append to, and why it is due."""
    return {
        "prompt": flush.prompt,
        "system": flush.system,
        "file": flush.file,
        "date": flush.date.isoformat(),
        "total_tokens": flush.total_tokens,
        "threshold": flush.threshold,
        "silent_token": flush.silent_token,
    }


def _count_json(count: TierCount) -> Json:
    return {"items": count.memories, "tokens": count.tokens}


def metrics_json(metrics: Metrics) -> Json:
    """Return the six metrics under their exported names."""
    return {name: round(value, 4) for name, value in metrics.as_dict().items()}


def session_status_json(status: SessionStatus) -> Json:
    """Return the status of a session."""
    percent = round(status.utilization_percent, 1)
    return {
        "sessionId": status.session,
        "state": status.state,
        "hot": {**_count_json(status.hot), "limit": status.limit, "utilizationPercent": percent},
        "warm": _count_json(status.warm),
        "cold": _count_json(status.cold),
        "suggestions": [
            {
                "type": suggestion.type,
                "reason": suggestion.reason,
                **({"itemIds": list(suggestion.ids)} if suggestion.ids else {}),
            }
            for suggestion in status.suggestions
        ],
    }


def scope_count_json(count: ScopeCount) -> Json:
    """Return what a scope holds."""
    return {
        "scope": dict(count.scope.items()),
        "memories": count.memories,
        "tokens": count.tokens,
        **{str(tier): _count_json(found) for tier, found in count.tiers.items()},
        "hidden": count.hidden,
    }


def status_json(status: Status) -> Json:
    """Return the status of a store."""
    return {
        "store": status.store,
        "scope": dict(status.scope.items()),
        **{str(tier): _count_json(count) for tier, count in status.tiers.items()},
        "retention": {str(retention): count for retention, count in status.retention.items()},
        "embedder": status.embedder,
        "policy": status.policy,
        "degraded": list(status.degraded),
        **({"hint": status.hint} if status.hint else {}),
    }


def note_hit_json(hit: NoteHit) -> Json:
    """Return a hit in a note: its location and text."""
    return {
        "path": hit.path,
        "startLine": hit.start_line,
        "endLine": hit.end_line,
        "score": round(hit.score, 4),
        "snippet": hit.snippet,
        "source": hit.source,
        "citation": hit.citation,
    }


def curated_json(curated: Curated) -> Json:
    """Return the lines that were copied to the curated note."""
    return {
        "source": curated.source,
        "path": curated.path,
        "lines": list(curated.lines),
        "startLine": curated.start_line,
        "endLine": curated.end_line,
        "dryRun": curated.dry_run,
    }


def note_results_json(results: NoteResults) -> Json:
    """Return the hits of a search of notes, with their citations if the chat shows them."""
    hits = [note_hit_json(hit) for hit in results]
    if not results.citations:
        hits = [{name: value for name, value in hit.items() if name != "citation"} for hit in hits]
    return {
        "results": hits,
        "citations": results.citations,
        "stale": results.stale,
        "degraded": list(results.degraded),
    }


def note_text_json(note: NoteText) -> Json:
    """Return lines of a note, and the line to continue at."""
    return {
        "path": note.path,
        "text": note.text,
        "startLine": note.start_line,
        "endLine": note.end_line,
        "totalLines": note.total_lines,
        "nextLine": note.next_line,
        "hint": note.hint,
    }
