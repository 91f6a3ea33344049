"""The kinds of events in the ledger, each with the words that a page shows for it."""

from __future__ import annotations

from enum import StrEnum
from typing import Self


class Action(StrEnum):
    """What was done in an event; a text, as in the ledger and on the wire."""

    #: What was done, in words.
    done: str

    def __new__(cls, value: str, done: str) -> Self:
        """Make a text with the words for it."""
        action = str.__new__(cls, value)
        action._value_ = value
        action.done = done
        return action

    REMEMBER = "remember", "Stored"
    UPDATE = "update", "Edited"
    AMEND = "amend", "Corrected a part"
    FINISH = "finish", "Closed a task"
    MOVE = "move", "Moved"
    PRIORITIZE = "prioritize", "Changed the priority"
    ARCHIVE = "archive", "Archived"
    FORGET = "forget", "Forgot"
    RESTORE = "restore", "Restored"
    APPROVE = "approve", "Approved"
    REJECT = "reject", "Rejected"
    PURGE = "purge", "Purged"
    UNDO = "undo", "Undid a change"
    VERIFY = "verify", "Verified"
    RESCOPE = "rescope", "Moved to another scope"
    MOVE_PROJECT = "move_project", "Moved to another project"
    MOVE_OUT_OF_SESSION = "move_out_of_session", "Kept after its session"
    SYNC = "sync", "Followed its note"
    EMBED = "embed", "Got new vectors"
    MAINTAIN = "maintain", "Maintained"
    ADOPT = "adopt", "Adopted a policy"
    ROLLBACK = "rollback", "Rolled back a policy"
