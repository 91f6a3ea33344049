"""A workspace with a few notes, and the index of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from memotherm import Memotherm
from memotherm.notes.notes import Notes


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A folder with a curated note, two days and a topic; the clock of the tests shows 2026-01-05."""
    root = tmp_path / "workspace"
    (root / "memory" / "projects").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n\n- The user prefers metric units\n- Deploys happen on Tuesday\n")
    (root / "memory" / "2026-01-04.md").write_text("# Sunday\n\nThe database port 5432 was taken.\nWe moved it.\n")
    (root / "memory" / "2025-11-01.md").write_text("# Autumn\n\nThe walrus exhibition opened in the harbour.\n")
    (root / "memory" / "projects" / "atlas.md").write_text("# Atlas\n\nAtlas renders maps of glaciers.\n")
    return root


@pytest.fixture
def notes(mem: Memotherm, workspace: Path) -> Notes:
    """The notes of the workspace, not synced yet."""
    return mem.notes(workspace)
