"""An agent that is given what the user said in an earlier session."""

import asyncio
from collections.abc import AsyncGenerator

from google.adk.agents import LlmAgent
from google.adk.models import BaseLlm, LlmRequest, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import InMemorySessionService
from google.adk.tools.preload_memory_tool import PreloadMemoryTool
from google.genai.types import Content, Part

from memotherm.adapters.google_adk import MemothermMemoryService

prompts: list[str] = []


class ScriptedModel(BaseLlm):
    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        prompts.append("\n".join(content.parts[0].text for content in llm_request.contents))
        reply = "The window seat." if "PAST_CONVERSATIONS" in prompts[-1] else "Noted."
        yield LlmResponse(content=Content(role="model", parts=[Part(text=reply)]))


async def main() -> str:
    memory = MemothermMemoryService("agent.db")
    sessions = InMemorySessionService()
    agent = LlmAgent(name="travel", model=ScriptedModel(model="scripted"), tools=[PreloadMemoryTool()])
    runner = Runner(app_name="travel", agent=agent, session_service=sessions, memory_service=memory)
    reply = ""
    for session_id, question in [("monday", "I always book the window seat"), ("tuesday", "Which seat do I book?")]:
        await sessions.create_session(app_name="travel", user_id="ada", session_id=session_id)
        message = Content(role="user", parts=[Part(text=question)])
        async for event in runner.run_async(user_id="ada", session_id=session_id, new_message=message):
            reply = event.content.parts[0].text
        session = await sessions.get_session(app_name="travel", user_id="ada", session_id=session_id)
        await memory.add_session_to_memory(session)
    await memory.close()
    return reply


print(asyncio.run(main()))
