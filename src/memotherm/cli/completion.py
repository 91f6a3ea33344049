"""`memotherm completion`: the shell script that completes commands and options."""

from __future__ import annotations

import click


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> None:
    """Print the shell script for completion of commands and options.

    \b
    memotherm completion bash >> ~/.bashrc
    memotherm completion zsh >> ~/.zshrc
    memotherm completion fish > ~/.config/fish/completions/memotherm.fish
    """
    from click.shell_completion import get_completion_class

    from memotherm.cli.app import app

    kind = get_completion_class(shell)
    if kind is None:
        raise click.UsageError(f"no completion for {shell}")
    # Shells request completions with the variable that click derives from the name of the program.
    click.echo(kind(app, {}, "memotherm", "_MEMOTHERM_COMPLETE").source())
