"""The worker process that a hook starts for the spool."""

from __future__ import annotations

import subprocess
import sys

from memotherm.settings import data_home

__all__ = ["start_worker"]


def start_worker() -> None:
    """Start a worker in the background that processes the spool and ends.

    It runs in the data folder, so that it does not depend on the folder of the hook.
    """
    detached = {"start_new_session": True} if sys.platform != "win32" else {"creationflags": 0x00000208}
    subprocess.Popen(
        [sys.executable, "-m", "memotherm", "worker", "--once", "--quiet"],
        cwd=data_home(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **detached,
    )
