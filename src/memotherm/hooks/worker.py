"""Where the spool is, and who takes from it: a worker that a hook starts, or `memotherm worker`."""

from __future__ import annotations

import subprocess
import sys

from memotherm.hooks.spool import Spool
from memotherm.settings import data_home

__all__ = ["spool_of", "start_worker"]


def spool_of() -> Spool:
    """Return the user's spool."""
    return Spool(data_home() / "spool")


def start_worker() -> None:
    """Start a worker that outlives this process, does what waits, and ends."""
    detached = {"start_new_session": True} if sys.platform != "win32" else {"creationflags": 0x00000208}
    subprocess.Popen(
        [sys.executable, "-m", "memotherm", "worker", "--once", "--quiet"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **detached,
    )
