"""The jobs of hooks that wait for a worker."""

from memotherm.spool.queue import Job, Spool, user_spool

__all__ = ["Job", "Spool", "user_spool"]
