"""Named tuples by the hundred."""

from __future__ import annotations

from thermocline.storage.values import Found
from thermocline.tuples import made


def test_what_is_made_together_is_what_is_made_one_by_one() -> None:
    """The same values, of the same kind."""
    found = made(Found, zip((1, 2), (0.5, 0.25), strict=True))

    assert found == [Found(1, 0.5), Found(2, 0.25)]
    assert [type(each) for each in found] == [Found, Found]
    assert made(Found, ()) == []
