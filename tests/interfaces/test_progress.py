"""What a command says about its progress when it is interrupted."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from memotherm.cli.output import progress_bar


@pytest.mark.parametrize(
    ("keeps", "counted", "said"),
    [
        (True, (3, 1000), "interrupted: 3 of 1,000 turns are done and stay; repeat the command to go on"),
        (True, None, "interrupted; repeat the command to go on"),
        (False, (3, 1000), "interrupted: 3 of 1,000 turns were done; nothing was written"),
        (False, None, "interrupted; nothing was written"),
    ],
)
def test_an_interrupted_command_says_what_is_done(keeps: bool, counted: tuple[int, int] | None, said: str) -> None:
    """Before anything was counted there is no number."""

    @click.command()
    def command() -> None:
        with progress_bar("turns", keeps=keeps) as progress:
            if counted:
                progress(*counted)
            raise KeyboardInterrupt

    assert CliRunner().invoke(command).output.splitlines()[0] == said
