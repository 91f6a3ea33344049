"""The frameworks, their environments, and the tests that are run with our adapters."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["FRAMEWORKS", "TOOLS", "Framework", "Suite"]

_INSIDE = "looks inside the other store"
_DISK = "looks at files on a disk"

#: What the tests of the frameworks need besides the packages for development.
TOOLS = (
    "pytest-asyncio",
    "pytest-mock",
    "pytest-retry",
    "langgraph-checkpoint-sqlite==3.1.2",
    "sqlite-vec",
    "aiosqlite",
)


class Suite(NamedTuple):
    """Tests in the source distribution of a package, and those left out: a text of their source, and the reason."""

    package: str
    version: str
    plugin: str
    files: tuple[str, ...]
    left_out: dict[str, str]


class Framework(NamedTuple):
    """A framework, its adapter, and the tests of both."""

    name: str
    package: str
    version: str
    #: Our how-to page and test module, by their names.
    page: str
    tests: str
    suites: tuple[Suite, ...] = ()
    #: Whether it has an environment of its own; the others are among the packages for development.
    apart: bool = False
    #: Why no tests of the framework are run.
    without: str = ""


_FILES = ("tests/lib/tools/memory_tools/test_filesystem.py",)

FRAMEWORKS = (
    Framework(
        "LangGraph",
        "langgraph-checkpoint",
        "4.3.1",
        "langgraph",
        "test_langgraph",
        (
            Suite("langgraph-checkpoint", "4.3.1", "langgraph_memory", ("tests/test_store.py",), {}),
            Suite(
                "langgraph-checkpoint-sqlite",
                "3.1.2",
                "langgraph_sqlite",
                ("tests/test_store.py", "tests/test_ttl.py", "tests/test_async_store.py"),
                {
                    "store.conn": _INSIDE,
                    "MIGRATIONS": _INSIDE,
                    "def test_sql_injection_vulnerability": "asks that names of fields are refused; ours takes all",
                    "def test_filter_keys_with_hyphens": "uses dotted names of fields, which that store alone has",
                    "def test_no_running_loop": "asks that calls from an event loop fail; ours serves both",
                },
            ),
        ),
    ),
    Framework(
        "Anthropic memory tool",
        "anthropic",
        "2.8.0",
        "anthropic",
        "test_anthropic",
        (Suite("anthropic", "2.8.0", "anthropic_store", _FILES, {"base_path": _DISK, "memory_root": _DISK}),),
    ),
    Framework(
        "OpenAI Agents SDK",
        "openai-agents",
        "0.24.0",
        "openai-agents",
        "test_openai_agents",
        (
            Suite(
                "openai-agents",
                "0.24.0",
                "openai_agents_session",
                ("tests/memory/test_session.py", "tests/memory/test_session_limit.py"),
                {
                    "session._": _INSIDE,
                    "sqlite3.": _INSIDE,
                    "_lock": _INSIDE,
                    "SQLiteSession is closed": "asks for the message of the other session",
                },
            ),
        ),
    ),
    Framework(
        "Pydantic AI",
        "pydantic-ai-slim",
        "2.66.0",
        "pydantic-ai",
        "test_pydantic_ai",
        without="it has no tests for capabilities of others",
    ),
    Framework(
        "Microsoft Agent Framework",
        "agent-framework-core",
        "1.23.0",
        "agent-framework",
        "test_agent_framework",
        without="it has no tests for context providers of others",
    ),
    Framework(
        "Google ADK",
        "google-adk",
        "2.13.0",
        "google-adk",
        "test_google_adk",
        without="its distributions have no tests; ours repeat the cases of its services",
    ),
    Framework(
        "Strands Agents",
        "strands-agents",
        "1.62.0",
        "strands",
        "test_strands",
        (
            Suite(
                "strands-agents",
                "1.62.0",
                "strands_store",
                ("tests/strands/vended_memory_stores/test_memory_store/test_store.py",),
                {
                    "store_path": _DISK,
                    "tmp_path": _DISK,
                    "path must not be empty": _DISK,
                    "monkeypatch": _INSIDE,
                    "_now()": _INSIDE,
                    "_relevanceScore": "asks for scores that are numbers of words",
                },
            ),
        ),
        apart=True,
    ),
    Framework(
        "LlamaIndex",
        "llama-index-core",
        "0.14.25",
        "llama-index",
        "test_llama_index",
        apart=True,
        without="its distributions have no tests",
    ),
    Framework(
        "Claude Agent SDK",
        "claude-agent-sdk",
        "0.2.182",
        "claude-agent",
        "test_claude_agent",
        apart=True,
        without="it has no tests for hooks of others",
    ),
)
