from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.store.base import BaseStore

from memotherm.adapters.langgraph import MemothermStore

model = GenericFakeChatModel(messages=iter([AIMessage("Noted."), AIMessage("The window seat.")]))


def answer(state: MessagesState, *, store: BaseStore) -> dict:
    question = state["messages"][-1].text
    known = store.search(("users", "ada"), query=question, limit=3)
    facts = "\n".join(item.value["text"] for item in known)
    reply = model.invoke([("system", f"What you know:\n{facts}"), ("user", question)])
    store.put(("users", "ada"), state["messages"][-1].id, {"text": question})
    return {"messages": [reply]}


store = MemothermStore("agent.db")
graph = StateGraph(MessagesState).add_node(answer).add_edge(START, "answer").compile(store=store)
graph.invoke({"messages": [("user", "I always book the window seat")]})
result = graph.invoke({"messages": [("user", "Which seat do I book?")]})

assert result["messages"][-1].text == "The window seat."
assert len(store.search(("users",))) == 2
