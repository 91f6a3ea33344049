"""Named tuples by the hundred."""

from __future__ import annotations

from memotherm.storage.values import Saying
from memotherm.tuples import made


def test_what_is_made_together_is_what_is_made_one_by_one() -> None:
    """The same values, of the same kind."""
    found = made(Saying, zip(("otters swim", "bread"), ("Ann", ""), (None, 7), strict=True))

    assert found == [Saying("otters swim", "Ann"), Saying("bread", previous=7)]
    assert [type(each) for each in found] == [Saying, Saying]
    assert made(Saying, ()) == []
