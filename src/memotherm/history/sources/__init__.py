"""The readers of transcripts, one module for each program."""

from __future__ import annotations

from memotherm.history.reader import Reader
from memotherm.history.sources.aider import Aider
from memotherm.history.sources.claude_code import ClaudeCode
from memotherm.history.sources.cline import Cline, Roo
from memotherm.history.sources.codex import Codex
from memotherm.history.sources.copilot import Copilot
from memotherm.history.sources.cursor import Cursor
from memotherm.history.sources.exports import ChatGPT, ClaudeExport
from memotherm.history.sources.gemini import Gemini
from memotherm.history.sources.goose import Goose
from memotherm.history.sources.hermes import Hermes
from memotherm.history.sources.openclaw import OpenClaw
from memotherm.history.sources.opencode import OpenCode

__all__ = ["SOURCES"]

_ALL: tuple[Reader, ...] = (
    ClaudeCode(), Codex(), Gemini(), OpenCode(), Copilot(), Cursor(), OpenClaw(), Cline(), Roo(), Aider(), Goose(),
    Hermes(), ChatGPT(), ClaudeExport(),
)  # fmt: skip
#: By name.
SOURCES = {source.name: source for source in _ALL}
