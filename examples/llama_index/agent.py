"""A chat that is given what the user said before."""

import asyncio

from llama_index.core.chat_engine import SimpleChatEngine
from llama_index.core.llms import MockLLM
from llama_index.core.memory import Memory

import memotherm
from memotherm.adapters.llama_index import MemothermMemoryBlock

mem = memotherm.open("agent.db", scope=memotherm.Scope(user="ada"))
mem.remember("Ada always books the window seat", kind="preference")

memory = Memory.from_defaults(session_id="tuesday", memory_blocks=[MemothermMemoryBlock(memory=mem)])
chat = SimpleChatEngine.from_defaults(llm=MockLLM(), memory=memory)
reply = asyncio.run(chat.achat("Which seat does Ada book on trains?"))
print(reply.response)
