"""How long the tests go on, and what a request may need."""

from __future__ import annotations

import os

import pytest

#: For tests that need long to begin with.
LONG = pytest.mark.skipif("SIEGE_SECONDS" not in os.environ, reason="make siege runs it")
#: How long each test goes on.
SECONDS = float(os.environ.get("SIEGE_SECONDS", "0.5"))
#: The most memory that one request may need, in bytes.
MOST_MEMORY = 64 * 2**20
