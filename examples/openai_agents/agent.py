"""An agent that knows in a new conversation what an earlier one said."""

import asyncio

from agents import Agent, RunConfig, Runner
from agents.testing import ScriptedModel, assistant_message

import memotherm
from memotherm.adapters.openai_agents import MemothermSession

model = ScriptedModel([[assistant_message("Noted.")], [assistant_message("The window seat.")]])
agent = Agent(name="travel", model=model)
mem = memotherm.open("agent.db", scope=memotherm.Scope(user="ada"))


async def ask(session_id: str, question: str) -> str:
    session = MemothermSession(session_id, mem)
    config = RunConfig(session_input_callback=session.session_input_callback, tracing_disabled=True)
    result = await Runner.run(agent, question, session=session, run_config=config)
    return result.final_output


asyncio.run(ask("monday", "I always book the window seat"))
print(asyncio.run(ask("tuesday", "Which seat do I book on trains?")))
