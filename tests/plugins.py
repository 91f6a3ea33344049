"""A package with entry points, installed as pip would, for tests of plugins."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

__all__ = ["install_plugin"]


def install_plugin(folder: Path, monkeypatch: pytest.MonkeyPatch, source: str, group: str, name: str = "pond") -> None:
    """Put a package `pondweed` on the path whose attribute `offered` is an entry point of a group."""
    (folder / "pondweed.py").write_text(source, encoding="utf-8")
    info = folder / "pondweed-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pondweed\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[{group}]\n{name} = pondweed:offered\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.delitem(sys.modules, "pondweed", raising=False)
