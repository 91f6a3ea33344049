"""Memotherm as the store of LangGraph: `MemothermStore("agent.db")` is a `BaseStore`."""

try:
    import langgraph.store.base  # noqa: F401 - the framework itself
except ImportError as exc:
    raise ImportError("the adapter for LangGraph needs langgraph: pip install 'memotherm[langgraph]'") from exc

from memotherm.adapters.langgraph.store import MemothermStore

__all__ = ["MemothermStore"]
