"""`thermocline` and `python -m thermocline`: hand the command line to the CLI."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line and leave with its exit code."""
    from thermocline.cli.app import run

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
