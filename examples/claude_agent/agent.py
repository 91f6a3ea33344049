"""An agent that knows in a new session what an earlier one said; the command line of Claude Code is scripted."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from claude_agent_sdk import AssistantMessage, ClaudeAgentOptions, Transport, query

import memotherm
from memotherm.adapters.claude_agent import hooks


class ScriptedTransport(Transport):
    """Calls the hooks as Claude Code does; the reply depends on the context."""

    def __init__(self, session_id: str) -> None:
        self.session = {"session_id": session_id, "transcript_path": "", "cwd": "."}
        self.sent: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.context = ""

    async def write(self, data: str) -> None:
        message = json.loads(data)
        if message["type"] == "control_request" and message["request"]["subtype"] == "initialize":
            self.hooks = message["request"]["hooks"]
            self.answer(message["request_id"])
        elif message["type"] == "user":
            self.call("UserPromptSubmit", prompt=message["message"]["content"])
        elif message["type"] == "control_response" and message["response"]["request_id"] == "UserPromptSubmit":
            output = message["response"]["response"].get("hookSpecificOutput", {})
            self.context = output.get("additionalContext", "")
            reply = "You book the window seat." if "window" in self.context else "I will remember it."
            content = {"role": "assistant", "model": "scripted", "content": [{"type": "text", "text": reply}]}
            self.sent.put_nowait({"type": "assistant", "message": content, **self.session})
            self.call("Stop", last_assistant_message=reply, stop_hook_active=False)
        elif message["type"] == "control_response":
            result = {"subtype": "success", "duration_ms": 1, "duration_api_ms": 1, "is_error": False, "num_turns": 1}
            self.sent.put_nowait({"type": "result", **result, **self.session})
            self.sent.put_nowait(None)

    def answer(self, request_id: str) -> None:
        response = {"subtype": "success", "request_id": request_id, "response": {}}
        self.sent.put_nowait({"type": "control_response", "response": response})

    def call(self, event: str, **values: Any) -> None:
        given = {"hook_event_name": event, **self.session, **values}
        (callback,) = self.hooks[event][0]["hookCallbackIds"]
        request = {"subtype": "hook_callback", "callback_id": callback, "input": given, "tool_use_id": None}
        self.sent.put_nowait({"type": "control_request", "request_id": event, "request": request})

    async def read_messages(self) -> AsyncIterator[dict[str, Any]]:
        while (message := await self.sent.get()) is not None:
            yield message

    async def connect(self) -> None: ...

    async def end_input(self) -> None: ...

    async def close(self) -> None: ...

    def is_ready(self) -> bool:
        return True


mem = memotherm.open("agent.db", scope=memotherm.Scope(user="ada"))


async def ask(session_id: str, question: str) -> str:
    options = ClaudeAgentOptions(hooks=hooks(mem))
    reply = ""
    async for message in query(prompt=question, options=options, transport=ScriptedTransport(session_id)):
        if isinstance(message, AssistantMessage):
            reply = message.content[0].text
    return reply


first = asyncio.run(ask("monday", "I always book the seat at the window"))
second = asyncio.run(ask("tuesday", "Which seat do I book on trains?"))
print(second)
