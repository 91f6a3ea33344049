"""Answer the hooks that call this server instead of starting a process.

Claude Code calls the tool of such a hook by its name, whether it is listed or not. It is not, so no model sees it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memotherm import Memotherm
from memotherm.hooks import log
from memotherm.hooks.events import answer, parse_event
from memotherm.hooks.recall import call_of, told_at_call
from memotherm.hooks.subagents import note_task
from memotherm.hooks.tools import AGENTS


def answer_hook(mem: Memotherm, fields: Mapping[str, Any]) -> str:
    """Return the answer to an event of a tool call or a subagent as JSON; empty if no memory concerns it.

    An error is logged for `doctor`: the call of the agent goes on.
    """
    try:
        return _answer(mem, fields)
    except Exception as error:  # noqa: BLE001 - the host must never see a failure
        log.add(log.ERROR, " ".join(str(error).split()) or type(error).__name__)
        return ""


def _answer(mem: Memotherm, fields: Mapping[str, Any]) -> str:
    given = fields.get("tool_input")
    event = parse_event({**fields, "tool_input": json.loads(given) if isinstance(given, str) and given else given})
    if event is None or event.moment not in ("tool", "agent"):
        return ""
    if event.call is not None and event.call.tool in AGENTS:
        note_task(event)
        return ""
    call = call_of(event, mem.settings)
    if call is None:
        return ""
    session = mem.in_folder(event.folder or ".").session(event.session)
    told = answer(event, told_at_call(session, event, call, mem.settings))
    return "" if told is None else json.dumps(told)
