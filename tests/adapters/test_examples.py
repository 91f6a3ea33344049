"""The folders of examples."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers import ROOT
from tests.test_docs import python_blocks

#: The how-to pages whose first program is an example; the tests of the documentation run them.
PAGES = {folder.name: folder.name.replace("_", "-") for folder in (ROOT / "examples").iterdir() if folder.is_dir()}


@pytest.mark.parametrize("folder", PAGES)
def test_an_example_is_the_program_of_its_page(folder: str) -> None:
    """What a user starts is what the page explains, and what its test runs."""
    page: Path = ROOT / "docs" / "how-to" / f"{PAGES[folder]}.md"
    assert (ROOT / "examples" / folder / "agent.py").read_text("utf-8").strip() == next(
        python_blocks(page)
    ).body.strip()
