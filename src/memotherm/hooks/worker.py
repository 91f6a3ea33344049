"""The worker process that a hook starts for the spool."""

from __future__ import annotations

import sys

from memotherm.daemon.client import start
from memotherm.settings import data_home

__all__ = ["start_worker"]


def start_worker() -> None:
    """Start a worker in the background that processes the spool and ends.

    It runs in the data folder, so that it does not depend on the folder of the hook; as a fork of the daemon, if there
    is one.
    """
    arguments = ["worker", "--once", "--quiet"]
    if start(arguments, str(data_home())):
        return
    # Imported here, because few hooks start a worker.
    import subprocess

    detached = {"start_new_session": True} if sys.platform != "win32" else {"creationflags": 0x00000208}
    subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, "-m", "memotherm", *arguments],
        cwd=data_home(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **detached,
    )
