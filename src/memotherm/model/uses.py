"""How strongly a memory was used, and what the caller said about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from memotherm.model.value import Value

__all__ = ["Feedback", "Strength"]


class Strength(StrEnum):
    """How strong the sign is that a memory was of use; the settings `weight_...` say what each counts."""

    #: It was in a context without a search, because it is hot or pinned.
    INJECTED = "injected"
    #: A search found it.
    RETURNED = "returned"
    #: It was read by its id after a recall had returned it.
    OPENED = "opened"
    #: The agent's answer says what it says, and the query did not.
    REFLECTED = "reflected"
    #: The caller said that it was used.
    CONFIRMED = "confirmed"


@dataclass(frozen=True, kw_only=True, slots=True, repr=False)
class Feedback(Value):
    """The uses that feedback about a recall has counted; each counts once."""

    recall_id: str
    #: The ids of the memories that the caller confirmed.
    confirmed: tuple[str, ...] = ()
    #: The ids of the memories that the answer reflects.
    reflected: tuple[str, ...] = ()
