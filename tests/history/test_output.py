"""The lines that tell why a command failed."""

from __future__ import annotations

import pytest

from memotherm.text.failures import error_lines


@pytest.mark.parametrize(
    ("output", "told"),
    [
        ("collected 3\n\x1b[31mE   ValueError: no port\x1b[0m\r\n1 passed", "E   ValueError: no port"),
        ("one\ntwo\nthree\nfour", "two\nthree\nfour"),
        ("error: a\nerror: a\nok\nerror: b", "error: a\nerror: b"),
        ("", ""),
        (f"{'x' * 500} error\nfatal: b", "fatal: b"),
        (f"-----BEGIN KEY-----\n{'A' * 64}\n{'B' * 64}\n-----END KEY-----", "-----BEGIN KEY-----\n-----END KEY-----"),
    ],
)
def test_lines_with_an_error_are_kept_else_the_last_ones(output: str, told: str) -> None:
    """Without colours, repeats, and lines that are data or too long."""
    assert error_lines(output) == told


def test_a_long_output_is_looked_at_from_both_ends() -> None:
    """Whole lines only, and few of them."""
    lines = [f"error number {number}" for number in range(100_000)]

    told = error_lines("\n".join(lines)).split("\n")

    assert (told[0], told[-1], len(told)) == (lines[0], lines[-1], 12)
