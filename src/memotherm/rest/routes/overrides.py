"""Operations whose response is more than the result of the facade, or whose request more than its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.exceptions import HTTPException

from memotherm.errors import NotFound
from memotherm.model import Memory, Retention
from memotherm.model.receipts import KeptEntry
from memotherm.operations.codec import to_json
from memotherm.operations.operation import read_arguments
from memotherm.operations.table import OPERATIONS
from memotherm.rest.dependencies import in_session
from memotherm.rest.routes.derived import Act, Call, With, perform
from memotherm.text.content import first_line, pluralize
from memotherm.tools.results import added_warnings, metrics_json, secret_warnings, skipped

Json = dict[str, Any]

_WARNINGS = {"warnings": list[str]}
_CONSIDERED = {"memories": list[Memory]}
#: What only those who may see the whole store are told.
_OF_THE_STORE = ("store", "bytes", "seq", "schema")


def _remember(call: Call) -> With:
    asked = call.more["force"] or not call.given.isdisjoint(("kind", "key"))
    if (answer := skipped(call.arguments["content"], asked=asked)) is not None:
        return With(None, answer)
    warnings = secret_warnings(call.arguments["content"], call.view.settings)
    return With(perform(call), {"warnings": warnings})


def _remember_many(call: Call) -> With:
    remember = OPERATIONS["remember"]
    drafts, left_out = [], []
    for given in call.arguments["memories"]:
        asked = call.more["force"] or "kind" in given or "key" in given
        if (answer := skipped(given["content"], asked=asked)) is None:
            drafts.append(read_arguments(remember, given))
        else:
            left_out.append({"content": given["content"], **answer})
    memories = perform(call._replace(arguments={**call.arguments, "memories": drafts}))
    warnings = [secret_warnings(draft["content"], call.view.settings) for draft in drafts]
    listed = [{**to_json(memory), "warnings": found} for memory, found in zip(memories, warnings, strict=True)]
    return With([], {"memories": listed, "skipped": left_out})


def _recall(call: Call) -> With:
    tiers = call.arguments.get("tiers", ())
    if call.more.get("with_cold") and "cold" not in tiers:
        call = call._replace(arguments={**call.arguments, "tiers": [*tiers, "cold"]})
    return With(perform(call), {"limit": call.arguments["limit"]})


def _context(call: Call) -> With:
    context = perform(call)
    entries = (*context.included, *context.left_out) if call.more.get("memories") else ()
    memories = {entry.id: entry.memory for entry in entries}
    return With(context, {"memories": [to_json(memory) for memory in memories.values()]})


def _get(call: Call) -> With:
    memory = perform(call)
    if memory.retention is Retention.DELETED and not call.more.get("hidden"):
        raise NotFound(f"{memory.id} was forgotten: add ?hidden=true to read it, or restore it")
    if call.request.headers.get("if-none-match", "").strip('"') == str(memory.version):
        return With(memory, {}, unchanged=True)
    return With(memory, to_json(call.view.inspect.heat(memory)))


def _forget(call: Call) -> object:
    memory_id = call.arguments["memory_id"]
    if call.view.read_only().get(memory_id).retention is Retention.DELETED:
        raise NotFound(f"{memory_id} was forgotten already")
    return perform(call)


def _change_many(call: Call) -> With:
    """Change several memories if their number is confirmed; a dry run returns it."""
    wanted = call.arguments.get("dry_run", False)
    dry_run = wanted or "count" not in call.arguments
    memories = perform(call._replace(arguments={**call.arguments, "dry_run": dry_run}))
    if dry_run and not wanted:
        raise HTTPException(409, f"{pluralize(len(memories), 'memory')} match: send count={len(memories)} to confirm")
    shown = memories if call.more.get("memories") else []
    return With(shown, {"count": len(memories), "dry_run": dry_run})


def _session_add(call: Call) -> With:
    memory = perform(call)
    warnings = added_warnings(memory, call.arguments["content"], call.view.settings)
    return With(memory, {"rule": memory.tier_rule, "warnings": warnings})


def _session_status(call: Call) -> With:
    view = in_session(call.view, call.arguments["session_id"])
    return With(perform(call), {"metrics": metrics_json(view.metrics())})


def _status(call: Call) -> With:
    view, metrics = call.view, call.view.metrics()
    members: Json = {
        "hot_limit": view.settings.hot_max_tokens,
        "session_hot_limit": view.settings.hot_token_limit,
        "metrics": metrics_json(metrics),
        "measured": to_json(metrics),
    }
    return With(perform(call), members, without=_OF_THE_STORE)


def _receipt(call: Call) -> With:
    """Return a receipt with the titles and tiers that its memories have now."""
    found = perform(call)
    own = dict(call.view.scope.items())
    # To look at a receipt is no use of its memories.
    inner = call.view.scoped(**{name: value for name, value in found.scope.items() if name not in own}).read_only()

    def titled(entry: KeptEntry) -> Json:
        try:
            memory = inner.get(entry.id)
        except NotFound:
            return {**to_json(entry), "title": None, "tier": None}
        return {**to_json(entry), "title": first_line(memory.content), "tier": str(memory.tier)}

    sections = {"included": found.included, "left_out": found.left_out}
    return With(found, {name: [titled(entry) for entry in entries] for name, entries in sections.items()})


def _erase(call: Call) -> object:
    scope = call.view.scope
    if not scope.items() or call.more["confirm"] != str(scope):
        raise HTTPException(409, f"confirm must be {str(scope)!r}, a scope with a field: nothing was erased")
    return perform(call)


def _policy_diff(call: Call) -> object:
    arguments = {"first": call.view.policies.current(), **call.arguments}
    return perform(call._replace(arguments=arguments))


#: What carries out an operation, and the members that its response has beside those of the value.
OVERRIDES: Mapping[str, tuple[Act, Mapping[str, Any]]] = {
    "remember": (_remember, _WARNINGS),
    "remember_many": (_remember_many, {"skipped": list[dict[str, str]]}),
    "recall": (_recall, {"limit": int}),
    "session_recall": (_recall, {"limit": int}),
    "context": (_context, _CONSIDERED),
    "start": (_context, _CONSIDERED),
    "session_start": (_context, _CONSIDERED),
    "session_before_turn": (_context, _CONSIDERED),
    "session_before_tool": (_context, _CONSIDERED),
    "get": (_get, {"heat": float, "decay": float}),
    "forget": (_forget, {}),
    "forget_many": (_change_many, {"count": int, "dry_run": bool}),
    "restore_many": (_change_many, {"count": int, "dry_run": bool}),
    "approve_many": (_change_many, {"count": int, "dry_run": bool}),
    "reject_many": (_change_many, {"count": int, "dry_run": bool}),
    "purge_many": (_change_many, {"count": int, "dry_run": bool}),
    "session_add": (_session_add, {"rule": str, **_WARNINGS}),
    "session_status": (_session_status, {"metrics": dict[str, float]}),
    "status": (
        _status,
        {"hot_limit": int, "session_hot_limit": int, "metrics": dict[str, float], "measured": dict[str, Any]},
    ),
    "receipt": (_receipt, {}),
    "erase": (_erase, {}),
    "policy_diff": (_policy_diff, {}),
}
