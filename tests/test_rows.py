"""Named tuples by the hundred."""

from __future__ import annotations

from memotherm.model.rows import named_tuples
from memotherm.storage.values import Use


def test_what_is_made_together_is_what_is_made_one_by_one() -> None:
    """The same values, of the same kind."""
    found = named_tuples(Use, zip((3, 4), (1.0, 0.5), (1, 7), strict=True))

    assert found == [Use(3), Use(4, 0.5, times=7)]
    assert [type(each) for each in found] == [Use, Use]
    assert named_tuples(Use, ()) == []
