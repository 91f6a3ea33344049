"""The help of `memotherm hook`; the command itself runs `memotherm.hooks.entry` without click."""

from __future__ import annotations

import click

from memotherm.hooks.entry import run

__all__ = ["command"]


@click.command("hook", context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Answer a hook event of a coding agent: JSON on standard input, at most one JSON object on standard output.

    It exits with 0 before its deadline, even after an error. `memotherm install` configures it.

    \b
    memotherm hook [EVENT] [--client claude|codex|gemini|cursor|openclaw]
                     [--store URL] [--project NAME|auto] [--user NAME] [--agent NAME]
                     [--tenant NAME] [--environment NAME]
                     [--budget TOKENS] [--deadline SECONDS] [--no-capture] [--no-worker]
    memotherm hook --selftest

    \b
    echo '{"hook_event_name": "SessionStart", "session_id": "s1"}' | memotherm hook
    """
    run(list(arguments))
