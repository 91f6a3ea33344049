"""Memotherm as hooks of the Claude Agent SDK: `ClaudeAgentOptions(hooks=hooks(mem))`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

try:
    from claude_agent_sdk import HookContext, HookMatcher
    from claude_agent_sdk.types import HookEvent, HookInput, HookJSONOutput
except ImportError as exc:
    raise ImportError("this adapter needs the Claude Agent SDK: pip install 'memotherm[claude-agent]'") from exc

from memotherm.adapters.conversation import BUDGET, Conversation
from memotherm.memory import Memotherm

_SOURCE = "claude-agent"


def hooks(memory: Memotherm, *, budget: int = BUDGET, capture: bool = True) -> dict[HookEvent, list[HookMatcher]]:
    """Return hooks that bring the context of each prompt, and capture the prompts and the replies.

    Args:
        memory: An open memory, whose scope says whose memories they are.
        budget: The most tokens of the context of a prompt.
        capture: Whether to store prompts and replies.
    """

    def begin_turn(conversation: Conversation, given: dict[str, Any]) -> HookJSONOutput:
        prompt = str(given.get("prompt") or "")
        text = conversation.context(prompt, budget).text
        if capture:
            conversation.capture("user", prompt)
        if not text:
            return {}
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}

    def end_turn(conversation: Conversation, given: dict[str, Any]) -> HookJSONOutput:
        if capture:
            conversation.capture("assistant", str(given.get("last_assistant_message") or ""))
        conversation.session.run_ended()
        return {}

    def compact(conversation: Conversation, given: dict[str, Any]) -> HookJSONOutput:  # noqa: ARG001
        # The contexts of earlier turns are about to be summarised.
        conversation.session.context_compacted()
        return {}

    def hook(act: Callable[[Conversation, dict[str, Any]], HookJSONOutput]) -> list[HookMatcher]:
        async def call(given: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:  # noqa: ARG001
            conversation = Conversation(memory, given["session_id"], _SOURCE)
            return await asyncio.to_thread(act, conversation, cast("dict[str, Any]", given))

        return [HookMatcher(hooks=[call])]

    return {"UserPromptSubmit": hook(begin_turn), "Stop": hook(end_turn), "PreCompact": hook(compact)}
