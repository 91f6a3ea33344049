"""The hooks of the Claude Agent SDK."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from memotherm import Memotherm

pytest.importorskip("claude_agent_sdk", reason="claude-agent-sdk is not installed; `make adapters` runs this")
pytestmark = pytest.mark.sqlite

from memotherm.adapters.claude_agent import hooks  # noqa: E402


def happen(mem: Memotherm, event: Any, **values: Any) -> Any:
    (matcher,) = hooks(mem)[event]
    given: Any = {"hook_event_name": event, "session_id": "s1", "transcript_path": "", "cwd": ".", **values}
    return asyncio.run(matcher.hooks[0](given, None, {"signal": None}))  # type: ignore[arg-type]


def test_a_prompt_is_given_what_is_new_and_again_after_a_compaction(mem: Memotherm) -> None:
    """The output has the form of the SDK; a turn without news has none."""
    mem.remember("The port of staging is 5544")
    output = happen(mem, "UserPromptSubmit", prompt="Which port has staging?")
    assert output["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert "5544" in output["hookSpecificOutput"]["additionalContext"]
    assert happen(mem, "UserPromptSubmit", prompt="Which port has staging now?") == {}
    assert happen(mem, "PreCompact", trigger="auto", custom_instructions=None) == {}
    assert "5544" in str(happen(mem, "UserPromptSubmit", prompt="Which port has staging again?"))


def test_prompts_and_replies_are_captured(mem: Memotherm) -> None:
    """A stop without a reply is no error."""
    happen(mem, "UserPromptSubmit", prompt="The port of staging is 5544 from today on")
    assert (
        happen(mem, "Stop", stop_hook_active=False, last_assistant_message="I changed the port in compose.yaml") == {}
    )
    assert happen(mem, "Stop", stop_hook_active=False) == {}
    assert [memory.metadata["role"] for memory in mem.find()] == ["assistant", "user"]
