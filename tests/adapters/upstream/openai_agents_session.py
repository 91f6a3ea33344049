"""Let the tests of openai-agents use our session instead of `SQLiteSession`."""

from typing import Any

import agents
import agents.memory

from memotherm.adapters.openai_agents import MemothermSession


class Session(MemothermSession):
    """A session that is opened as `SQLiteSession` is."""

    def __init__(self, session_id: str, db_path: Any = ":memory:", session_settings: Any = None) -> None:
        super().__init__(session_id, db_path, session_settings=session_settings, settings={"embedder": "none"})


agents.SQLiteSession = agents.memory.SQLiteSession = Session  # type: ignore[assignment, misc]
