"""Which line of the specification a test of notes proves: `@spec("O12")` above a test function."""

from __future__ import annotations

from tests.proofs import marker

#: Every line of the part about Markdown memory, and what the system behind it got wrong.
IDS = (*(f"O{number:02}" for number in range(1, 51)), *(f"W{number}" for number in range(33, 39)))

spec = marker(IDS)
