"""An agent that knows in a new conversation what an earlier one said."""

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

import memotherm
from memotherm.adapters.pydantic_ai import MemothermCapability

requests: list[str] = []


def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    requests.append(" ".join(str(part.content) for part in messages[-1].parts))
    return ModelResponse([TextPart("The window seat." if "window seat" in requests[-1] else "Noted.")])


mem = memotherm.open("agent.db", scope=memotherm.Scope(user="ada"))
agent = Agent(FunctionModel(reply), capabilities=[MemothermCapability(mem)])

agent.run_sync("I always book the seat at the window")
mem.remember("Ada books the window seat", kind="preference")
print(agent.run_sync("Which seat do I book on trains?").output)
