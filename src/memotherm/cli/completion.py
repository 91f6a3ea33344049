"""`memotherm completion`: the shell scripts for completion."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["VARIABLE", "command"]

#: The environment variable with which a shell requests completions; click reads it.
VARIABLE = "_MEMOTHERM_COMPLETE"


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the shell script for completion of commands and options.

    \b
    memotherm completion bash >> ~/.bashrc
    memotherm completion zsh >> ~/.zshrc
    memotherm completion fish > ~/.config/fish/completions/memotherm.fish
    """
    from memotherm.cli.app import app

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    click.echo(kind(app, {}, "memotherm", VARIABLE).source())
