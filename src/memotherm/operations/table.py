"""The table of operations: every verb that interfaces offer, declared once.

A line names the method of the facade, which has the parameters, their types and defaults, and the help; and what the
method does not say: the route, whether it changes something, and the tool of agents. REST routes, the remote client,
MCP tools, plain commands and the reference pages are made from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from memotherm.operations.operation import Operation, Tool
from memotherm.operations.parameters import PATTERNS

#: The header that names the scope of a request.
SCOPE_HEADER = "Memotherm-Scope"

_OF_SESSION = "session:sessionId"
_RECALLED = {"limit": {"le": 200}}
#: An empty query lists.
_SEARCHED = {**_RECALLED, "query": {"min_length": 0, "pattern": PATTERNS["text_or_empty"]}}
_BY_ID = {"memory_id": {"required": True, "pattern": PATTERNS["id_or_number"]}}
_PAGED = {"cursor": {"pattern": r"^before-[0-9]{1,18}$"}}


def _change(of: str, route: str, tool: Tool | None = None, **more: Any) -> Operation:  # noqa: ANN401
    """Return an operation that changes one memory."""
    return Operation(of=of, group="memories", route=route, writes=True, conflicts=True, tool=tool, **more)


def _read(of: str, group: str, route: str, **more: Any) -> Operation:  # noqa: ANN401
    """Return an operation that changes nothing."""
    return Operation(of=of, group=group, route=route, **more)


def _session(of: str, route: str, **more: Any) -> Operation:  # noqa: ANN401
    """Return an operation of a session that changes something."""
    return Operation(of=of, group="sessions", route=route, **{"writes": True, **more})


def _policy(of: str, route: str, **more: Any) -> Operation:  # noqa: ANN401
    """Return an operation on the policies of the whole store."""
    return Operation(of=of, group="policies", route=route, whole_store=True, **more)


def _store(of: str, **more: Any) -> Operation:  # noqa: ANN401
    """Return an operation that needs the store itself."""
    return Operation(of=of, group="store", whole_store=True, **more)


_TABLE = (
    # Search
    _read(
        "Memotherm.recall", "search", "POST /recall", conflicts=True, more=("with_cold", "session"), limits=_SEARCHED,
        examples=({"query": "can I ship today?", "tiers": ["hot", "warm"], "limit": 5},),
    ),
    _read(
        "Memotherm.context", "search", "POST /context", more=("session", "memories"),
        examples=({"query": "deploying on Friday", "budget": 1000},),
    ),
    _read("Inspection.start", "search", "POST /start", more=("memories",)),
    Operation(
        of="Memotherm.feedback", group="search", route="POST /feedback", writes=True, repeatable=True, conflicts=True,
        more=("session",),
        tool=Tool(
            name="memory_feedback", title="Feedback", parameters=f"used answer {_OF_SESSION}", repeatable=True,
            description="Say which recalled memories you used, or what you answered.",
        ),
        examples=({"answer": "No: deploys are frozen until Friday."},),
    ),
    _read(
        "Receipts.list", "search", "GET /receipts", id="receipts", left_out=("session",), more=("session",),
        limits=_PAGED,
        tool=Tool(
            name="memory_receipts", title="What was injected", parameters=f"{_OF_SESSION} limit cursor",
            defaults={"limit": 5}, repeatable=True, description="Return what contexts have injected and why.",
        ),
    ),
    _read("Receipts.get", "search", "GET /receipts/{number}", id="receipt"),
    _read("Receipts.sent", "search", "GET /receipts/{number}/context", id="sent_context"),
    _read("Receipts.explain", "search", "GET /receipts/{number}/memories/{memory_id}", id="explain_receipt"),
    # Memories
    Operation(
        of="Memotherm.remember", group="memories", route="POST /memories", writes=True, creates=True,
        conflicts=("expires_at", "version"), more=("session", "force"),
        examples=({"content": "Production deploys are frozen until Friday", "tags": ["blocker"]},),
    ),
    Operation(
        of="Memotherm.remember_many", group="memories", route="POST /memories:batch", writes=True, creates=True,
        conflicts=True, more=("force",), result="memories",
        limits={"memories": {"type": list[dict[str, Any]], "max_length": 1000}},
        examples=({"memories": [{"content": "Ana owns the vault"}, {"content": "Bob is on call"}]},),
    ),
    Operation(
        of="Memotherm.capture", group="memories", route="POST /memories:capture", writes=True, more=("session",),
        examples=({"content": "We decided to use SQLite for the shop"},),
    ),
    _read(
        "Memotherm.find", "memories", "POST /memories:find", conflicts=("cursor",), limits=_PAGED,
        tool=Tool(
            name="memory_find", title="List memories", defaults={"limit": 20}, repeatable=True,
            parameters="tier kind tags since until where prefix mentions retention"
            f" include_narrower:includeNarrower limit cursor {_OF_SESSION}",
            description="List memories, newest first.",
        ),
        examples=({"kind": "decision", "since": "7d"},),
    ),
    _read(
        "Memotherm.select", "memories", "POST /memories:select",
        tool=Tool(
            name="memory_select", title="What a request concerns", repeatable=True, parameters=f"request {_OF_SESSION}",
            description="Return what a request such as 'everything about Frank' concerns; nothing is changed.",
        ),
        examples=({"request": "everything about Frank the engineer"},),
    ),
    Operation(
        of="Memotherm.alias", group="memories", route="POST /aliases", writes=True, creates=True, conflicts=True,
        tool=Tool(
            name="memory_alias", title="Two names of the same", parameters=f"name also {_OF_SESSION}", repeatable=True,
            description="Record that two names mean the same, so that searches find both.",
        ),
        examples=({"name": "Zhang Wei", "also": "张伟"},),
    ),
    _read("Memotherm.count", "memories", "POST /memories:count", result="count", examples=({"tier": "cold"},)),
    _read("Memotherm.stale", "memories", "", result="memories"),  # a server reads no folder
    _read("Memotherm.kinds", "memories", "POST /memories:kinds", result="kinds", examples=({"tier": "warm"},)),
    _read("Memotherm.get", "memories", "GET /memories/{memory_id}", left_out=("key",), more=("hidden",), limits=_BY_ID),
    _read(
        "Memotherm.get", "search", "GET /memories:key", id="get_by_key", left_out=("memory_id", "include_narrower"),
        limits={"key": {"required": True}},
    ),
    _read(
        "Inspection.keys", "memories", "GET /memories:keys", result="keys",
        tool=Tool(
            name="memory_list_keys", title="List keys", parameters=f"prefix depth after {_OF_SESSION}",
            description="List keys; with a depth, their distinct prefixes.", repeatable=True,
        ),
    ),
    _read(
        "Inspection.full_id", "memories", "GET /memories:id", conflicts=True, result="id",
        limits={"part": {"max_length": 100, "pattern": r"^[!-~]([ -~]{0,198}[!-~])?$"}},
    ),
    _change(
        "Memotherm.update", "PATCH /memories/{memory_id}",
        Tool(
            name="memory_update", title="Change a memory",
            parameters=f"memory_id content kind tags metadata ttl_minutes expires_at valid_until {_OF_SESSION}",
            description="Change a memory; what is left out stays as it is.",
        ),
    ),
    _change(
        "Memotherm.amend", "POST /memories/{memory_id}/amend",
        Tool(
            name="memory_amend", title="Correct a part of a memory",
            parameters=f"memory_id content part why {_OF_SESSION}",
            description="Correct one statement of a memory; its others stay. Without `part`, the closest one.",
        ),
        examples=({"content": "Joined Anthropic", "part": "works at Google"},),
    ),
    _change("Memotherm.move", "POST /memories/{memory_id}/move", examples=({"tier": "cold", "why": "done"},)),
    _change("Memotherm.prioritize", "POST /memories/{memory_id}/prioritize", examples=({"priority": "critical"},)),
    _change(
        "Memotherm.pin", "POST /memories/{memory_id}/pin",
        Tool(
            name="pin_memory", title="Pin a memory", parameters=f"memory_id {_OF_SESSION}", repeatable=True,
            description="Pin a memory: every context includes it until it is unpinned.",
        ),
    ),
    _change(
        "Memotherm.unpin", "POST /memories/{memory_id}/unpin",
        Tool(
            name="unpin_memory", title="Unpin a memory", parameters=f"memory_id {_OF_SESSION}", repeatable=True,
            description="Give a pinned memory normal priority.",
        ),
    ),
    _change(
        "Memotherm.verify", "POST /memories/{memory_id}/verify",
        Tool(
            name="memory_verify", title="Verify a memory", parameters=f"memory_id {_OF_SESSION}",
            description="Record that a memory still holds.",
        ),
    ),
    _read(
        "Memotherm.conflicts", "memories", "GET /conflicts", result="conflicts",
        tool=Tool(
            name="memory_conflicts", title="List conflicts", repeatable=True,
            parameters=f"limit include_narrower:includeNarrower {_OF_SESSION}",
            defaults={"limit": 5}, description="List memories that disagree. Ask the user which holds.",
        ),
    ),
    _change(
        "Memotherm.decide", "POST /memories/{memory_id}/decide",
        Tool(
            name="memory_decide", title="Decide a conflict", parameters=f"memory_id over {_OF_SESSION}", hides=True,
            description="Keep a memory and archive what it replaces; a person's memory only if the user approves.",
        ),
        result="memories",
    ),
    _read(
        "Memotherm.tasks", "memories", "GET /tasks", result="memories",
        tool=Tool(
            name="memory_tasks", title="List open tasks", repeatable=True, defaults={"limit": 20},
            parameters=f"limit {_OF_SESSION}", description="List the open tasks.",
        ),
    ),
    _change(
        "Memotherm.finish", "POST /memories/{memory_id}/finish",
        Tool(
            name="memory_finish", title="Close a task", parameters=f"memory_id status {_OF_SESSION}",
            description="Record that a task is done or cancelled.",
        ),
    ),
    _change("Memotherm.move_out_of_session", "POST /memories/{memory_id}/move-out-of-session"),
    _change("Memotherm.rescope", "POST /memories/{memory_id}/rescope"),
    _change("Memotherm.archive", "POST /memories/{memory_id}/archive"),
    _change(
        "Memotherm.forget", "DELETE /memories/{memory_id}",
        Tool(
            name="memory_forget", title="Forget a memory", parameters=f"memory_id {_OF_SESSION}", hides=True,
            repeatable=True, description="Delete a memory; it can be restored for some days.",
        ),
    ),
    _change("Memotherm.restore", "POST /memories/{memory_id}/restore"),
    # No tools: a model must not approve what it has proposed.
    _change("Memotherm.approve", "POST /memories/{memory_id}/approve"),
    _change("Memotherm.reject", "POST /memories/{memory_id}/reject"),
    _change("Memotherm.purge", "POST /memories/{memory_id}/purge"),
    _change(
        "Bulk.forget", "POST /memories:forget",
        Tool(
            name="memory_forget_many", title="Forget memories", hides=True, defaults={"dry_run": True},
            parameters="ids mentions kind tags where why dry_run:dryRun include_narrower:includeNarrower"
            f" {_OF_SESSION}",
            description="Delete what the filters select; unless dryRun is false, only list it.",
        ),
        id="forget_many", result="memories", more=("memories",),
    ),
    _change("Bulk.restore", "POST /memories:restore", id="restore_many", result="memories", more=("memories",)),
    _change("Bulk.approve", "POST /memories:approve", id="approve_many", result="memories", more=("memories",)),
    _change("Bulk.reject", "POST /memories:reject", id="reject_many", result="memories", more=("memories",)),
    _change("Bulk.purge", "POST /memories:purge", id="purge_many", result="memories", more=("memories",)),
    Operation(of="Bulk.cool", group="tiers", route="POST /memories:cool", writes=True, conflicts=True),
    _read("Memotherm.history", "memories", "GET /memories/{memory_id}/history", result="events"),
    _read("Inspection.uses", "memories", "GET /memories/{memory_id}/uses"),
    _read("Inspection.heat", "memories", "GET /memories/{memory_id}/heat"),
    _read(
        "Inspection.neighbours", "memories", "GET /memories/{memory_id}/neighbours", result="items", limits=_RECALLED,
    ),
    # Sessions
    _session(
        "Session.add", "POST /sessions/{session_id}/memories", creates=True,
        limits={"tier": {"type": Literal["hot"]}},
        examples=({"content": "The budget is $50K", "type": "fact"},),
    ),
    _read("Session.hot", "sessions", "GET /sessions/{session_id}/hot", begun=True, result="memories"),
    _read("Inspection.session", "sessions", "GET /sessions/{session_id}/status", id="session_status"),
    _session(
        "Session.spill", "POST /sessions/{session_id}/spill", limits={"count": {"le": 10_000}},
        tool=Tool(
            name="memory_spill", title="Spill working memory", parameters="session_id:sessionId count ids",
            description="Move hot memories of a session out: the least relevant and oldest, or `ids`.",
        ),
    ),
    _session(
        "Session.promote", "POST /sessions/{session_id}/promote", result="promoted",
        tool=Tool(
            name="memory_promote", title="Promote to working memory", parameters="session_id:sessionId memory_id",
            description="Move a memory of a session to hot; older hot memories are spilled if needed.",
        ),
    ),
    _session(
        "Session.demote", "POST /sessions/{session_id}/demote", begun=True, conflicts=True,
        limits={"tier": {"type": Literal["warm", "cold"]}},
        tool=Tool(
            name="memory_demote", title="Demote from working memory", repeatable=True,
            parameters="session_id:sessionId memory_id tier", description="Move a memory of a session to warm or cold.",
        ),
    ),
    _session(
        "Session.keep", "POST /sessions/{session_id}/keep", begun=True, conflicts=True,
        tool=Tool(
            name="memory_keep", title="Keep after the session", parameters="session_id:sessionId memory_id",
            description="Keep a memory of a session in the scope around it.", repeatable=True,
        ),
    ),
    _session("Session.forget", "POST /sessions/{session_id}/forget", begun=True, conflicts=True),
    _session("Session.heard", "POST /sessions/{session_id}/heard"),
    _session(
        "Session.prune", "POST /sessions/{session_id}/prune", begun=True, result="pruned",
        tool=Tool(
            name="memory_prune", title="Prune a session", parameters="session_id:sessionId keep", hides=True,
            repeatable=True, description="Delete the least relevant cold memories beyond `keep`.",
        ),
    ),
    _session(
        "Session.clear", "POST /sessions/{session_id}/clear", begun=True, result="cleared",
        tool=Tool(
            name="memory_clear", title="Clear a session", parameters="session_id:sessionId", hides=True,
            repeatable=True, description="Delete the memories of a session, except pinned ones.",
        ),
    ),
    _session(
        "Session.recall", "POST /sessions/{session_id}/recall", repeatable=True, limits=_RECALLED,
        examples=({"query": "the budget"},),
    ),
    _session(
        "Session.session_start", "POST /sessions/{session_id}/start", id="session_start", repeatable=True,
        more=("memories",),
    ),
    _session(
        "Session.before_turn", "POST /sessions/{session_id}/context", repeatable=True, more=("memories",),
        examples=({"prompt": "what is the budget?"},),
    ),
    _session(
        "Session.before_tool", "POST /sessions/{session_id}/tool", repeatable=True, more=("memories",),
        examples=({"tool": "Bash", "command": "make deploy"},),
    ),
    _session("Session.context_compacted", "POST /sessions/{session_id}/compacted"),
    _session(
        "Session.flush_due", "POST /sessions/{session_id}/flush", left_out=("root",), result="flush",
        examples=({"total_tokens": 190_000},),
    ),
    _session("Session.run_ended", "POST /sessions/{session_id}/run-ended", result="compaction"),
    _session(
        "Session.session_end", "POST /sessions/{session_id}/end", id="session_end", result="compaction",
        tool=Tool(
            name="memory_end", title="End a session", begun=True, parameters="session_id:sessionId summary",
            description="End a session, and run the tier rules.",
        ),
        examples=({"summary": "We talked about money"},),
    ),
    # Notes
    _read("Notes.search", "notes", "POST /notes/search", examples=({"query": "who owns the vault?"},)),
    _read("Notes.get", "notes", "GET /notes/lines"),
    Operation(
        of="Notes.curate", group="notes", route="POST /notes/curate", writes=True, repeatable=True,
        tool=Tool(
            name="memory_curate", title="Curate notes", parameters="path from_line:from lines dry_run:dryRun",
            description="Copy lines of a daily note to MEMORY.md, except those it has.", repeatable=True,
        ),
    ),
    # Tiers
    Operation(
        of="Memotherm.compact", group="tiers", route="POST /compact", writes=True,
        tool=Tool(
            name="memory_compact", title="Run the tier rules", parameters="dry_run:dryRun",
            description="Run the tier rules once.",
        ),
    ),
    Operation(of="Memotherm.maintain", group="tiers", route="POST /maintain", writes=True, left_out=("progress",)),
    _read("Inspection.tier_history", "tiers", "GET /tiers/history", conflicts=True, result="points"),
    _read("Memotherm.events", "tiers", "GET /events"),
    Operation(
        of="Memotherm.undo", group="tiers", route="POST /events/{event_seq}/undo", writes=True, conflicts=True,
        tool=Tool(
            name="memory_undo", title="Undo a change", parameters=f"event_seq:event {_OF_SESSION}",
            description="Undo a change: `event` is the version in its result.",
        ),
    ),
    Operation(
        of="Bulk.undo", id="undo_many", group="tiers", route="POST /events:undo", writes=True, conflicts=True,
        tool=Tool(
            name="memory_undo_many", title="Undo changes",
            parameters=f"events run include_narrower:includeNarrower {_OF_SESSION}",
            description="Undo several changes; with `run`, all made together with them.",
        ),
    ),
    # Policies
    _policy("Policies.lint", "POST /policy/lint", result="findings"),
    _policy("Policies.diff", "POST /policy/diff", result="differences", limits={"first": {"required": False}}),
    _read(
        "Policies.replay", "policies", "POST /policy/replay", left_out=("progress",), seconds=1800.0,
        limits={"limit": {"ge": 1, "le": 100}},
    ),
    _policy("Policies.adopt", "POST /policy/adopt", writes=True),
    _policy("Policies.rollback", "POST /policy/rollback", writes=True),
    # The store
    _read("Memotherm.status", "store", "GET /status"),
    _read(
        "Inspection.scopes", "store", "GET /scopes", result="scopes",
        tool=Tool(
            name="memory_scopes", title="List scopes", repeatable=True,
            description="List the scopes at and below this one, with counts.",
        ),
    ),
    _read("Inspection.timeline", "search", "GET /timeline", conflicts=True, result="activities"),
    _read("Inspection.batches", "tiers", "GET /batches", result="batches"),
    _read("Inspection.everything", "store", "GET /everything"),
    _read("Inspection.recalls", "store", "GET /recalls", result="recalls"),
    Operation(
        of="Memotherm.erase", group="store", route="POST /erase", writes=True, repeatable=True, left_out=("jobs",),
        more=("confirm",),
    ),
    _store("Memotherm.check", route="GET /check", result="problems"),
    _store("Upkeep.reembed", writes=True, left_out=("progress",), result="embedded"),
    _store("Memotherm.checkpoint", left_out=("progress",), result="path"),
    _store("Upkeep.import_", writes=True, left_out=("progress",)),
)  # fmt: skip

#: The view of agents, who pay for every token: members of memories and hits that their tools leave out.
AGENTS_DO_NOT_NEED = frozenset(
    ("digest", "use_weight", "recent_uses", "tier_since", "tier_rule", "retention_since", "parts")
)

#: Every operation by its name.
OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in _TABLE}


def operations_of(owner: str) -> Iterator[Operation]:
    """Yield the operations of the memory, of a session, of notes or of policies that a server offers."""
    return (each for each in OPERATIONS.values() if each.owner == owner and each.route)
