"""`memotherm` and `python -m memotherm`: run the command line, or a hook without click."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and exit with its exit code."""
    arguments = sys.argv[1:]
    # A host waits for its hooks: they import nothing but the standard library at first.
    if arguments[:1] == ["hook"] and not {"-h", "--help"} & set(arguments):
        from memotherm.hooks.entry import run as run_hook

        run_hook(arguments[1:])
    from memotherm.cli.app import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
