"""A LangChain agent that keeps what it is told in a Memotherm store.

    pip install 'memotherm[langgraph]' langchain
    python examples/langgraph_agent.py

The model is scripted, so that the example runs offline; replace it with your own.
"""

from langchain.agents import create_agent
from langchain.tools import ToolRuntime, tool
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage

from memotherm.adapters.langgraph import MemothermStore


class ScriptedModel(GenericFakeChatModel):
    """A model with fixed replies that accepts tools."""

    def bind_tools(self, *arguments: object, **options: object) -> "ScriptedModel":
        """Return the model: its replies do not depend on the tools."""
        return self


@tool
def note(text: str, runtime: ToolRuntime) -> str:
    """Store what the user said."""
    runtime.store.put(("users", "ada"), text, {"text": text})
    return "stored"


if __name__ == "__main__":
    call = {"name": "note", "args": {"text": "Ada books the window seat"}, "id": "1"}
    model = ScriptedModel(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("Noted.")]))
    with MemothermStore("agent.db") as store:
        agent = create_agent(model, tools=[note], store=store)
        reply = agent.invoke({"messages": [("user", "I always book the window seat")]})
        print(reply["messages"][-1].text)
        for item in store.search(("users", "ada"), query="Which seat does Ada book?"):
            print(f"{item.score:.2f}  {item.value['text']}")
