"""`memotherm` and `python -m memotherm`: let the daemon run a command, or run it here; a hook runs without click."""

from __future__ import annotations

import os
import sys
import time

from memotherm.folders import one_thread_of_numpy

#: The longest time for a hook in the daemon, in seconds; more than its deadlines.
_HOOK_SECONDS = 6.0


def main() -> None:
    """Run the command line and exit with its exit code."""
    started = time.monotonic()
    arguments = sys.argv[1:]
    command = arguments[0] if arguments else ""
    # A host waits for its hooks: they import nothing but the standard library at first.
    is_hook = command == "hook" and not {"-h", "--help"} & set(arguments)
    if is_hook:
        from memotherm.hooks.quick import concerns_nothing

        if concerns_nothing(arguments[1:]):
            os._exit(0)
    one_thread_of_numpy()
    if command not in ("", "agent") and not {"-h", "--help"} & set(arguments):
        from memotherm.daemon.client import run as run_in_daemon

        # A deadline that is given may be longer, and is kept by the hook itself.
        limited = is_hook and not any(argument.startswith("--deadline") for argument in arguments)
        code = run_in_daemon(arguments, started, _HOOK_SECONDS if limited else None)
        if code is not None:
            # Not sys.exit: there is nothing to clean up, and the interpreter takes a tenth of the time to do it.
            os._exit(0 if is_hook else code)
    if is_hook:
        from memotherm.hooks.entry import run as run_hook

        run_hook(arguments[1:])
    from memotherm.cli.app import run

    sys.exit(run(arguments))


if __name__ == "__main__":
    main()
