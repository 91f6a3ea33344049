"""What interfaces tell about a result beside the value itself."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from memotherm.model import Memory
from memotherm.model.reports import Everything, Metrics
from memotherm.operations.codec import to_json
from memotherm.settings import Settings
from memotherm.text.content import pluralize
from memotherm.text.phrases import filler_reason
from memotherm.text.redaction import MARK, redactor

if TYPE_CHECKING:
    from memotherm.tiers.policy import Policy

Json = dict[str, Any]


def secret_warnings(content: str, settings: Settings) -> list[str]:
    """Return a warning for what a stored content seems to contain that should not be stored."""
    secrets = redactor(settings).find(content)
    if not secrets:
        return []
    return [f"it seems to contain {', '.join(secrets)} and was stored as it is: purge it if it is a secret"]


def skipped(content: object, *, asked: bool) -> Json | None:
    """Return the answer to a request to store a content that has nothing to remember; None if it is to be stored.

    Every interface for people and agents has this rule. `asked` says that the caller wants it stored all the same: with
    `force`, or because of a kind or a key that was given.
    """
    if asked or not isinstance(content, str) or not content.strip():
        return None
    reason = filler_reason(content, instructions=False)
    if not reason:
        return None
    return {"status": "skipped", "why": f"{reason}: write what should be remembered as a sentence, or use force"}


def without_secrets(
    arguments: Json, stored: Collection[str], settings: Settings, advice: str
) -> tuple[Json, list[str]]:
    """Return the arguments of a tool with the secrets replaced in those it stores, and a warning if there are some."""
    secrets = redactor(settings)
    texts = {name: value for name, value in arguments.items() if name in stored}
    redacted = {name: secrets.redact_values(value) for name, value in texts.items()}
    count = sum(each.replaced for each in redacted.values())
    if not count:
        return arguments, []
    names = ", ".join(secrets.find(json.dumps(texts, ensure_ascii=False))) or "in a value"
    replaced = {name: each.value for name, each in redacted.items() if each.replaced}
    return {**arguments, **replaced}, [f"{pluralize(count, 'secret')} replaced by {MARK} ({names}){advice}"]


def placement_warnings(memory: Memory, settings: Settings) -> list[str]:
    """Return why a memory that was added to a session is not hot."""
    reasons = {
        "session.oversized": f"its {memory.tokens} tokens are more than the whole hot limit of "
        f"{settings.hot_token_limit} (hot_token_limit)",
        "session.full": "what is hot cannot be spilled, and it does not fit beside it",
    }
    return [f"stored in {memory.tier}: {reasons[memory.tier_rule]}"] if memory.tier_rule in reasons else []


def added_warnings(memory: Memory, content: str, settings: Settings) -> list[str]:
    """Return why a memory that was added to a session is not hot, and which secrets it seems to contain."""
    return [*placement_warnings(memory, settings), *secret_warnings(content, settings)]


def everything_json(stored: Everything) -> Iterator[Json]:
    """Yield what is stored at and below a scope, each with its `type`: memory, event, receipt or recall."""
    for kind in ("memory", "event", "receipt", "recall"):
        plural = "memories" if kind == "memory" else f"{kind}s"
        yield from ({"type": kind, **to_json(each)} for each in getattr(stored, plural))


def metrics_json(metrics: Metrics) -> Json:
    """Return the six metrics under their exported names."""
    return {name: round(value, 4) for name, value in metrics.as_dict().items()}


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
        conditions = {name: tables[rule.id].get(name, []) for name in ("when", "unless")}
        # A condition is a table, or a list of tables of which one must hold.
        listed = {name: each if isinstance(each, list) else [each] for name, each in conditions.items()}
        to = " or ".join(targets)
        yield {"id": rule.id, "run": rule.run, "to": to, "why": rule.why, "origin": policy.name, **listed}
    if policy.base is not None:
        yield from _rules_json(policy.base)
