"""Named tuples by the hundred."""

from __future__ import annotations

from memotherm.model.rows import named_tuples
from memotherm.storage.values import CandidateText


def test_what_is_made_together_is_what_is_made_one_by_one() -> None:
    """The same values, of the same kind."""
    found = named_tuples(CandidateText, zip(("otters swim", "bread"), ("Ann", ""), (None, 7), strict=True))

    assert found == [CandidateText("otters swim", "Ann"), CandidateText("bread", previous=7)]
    assert [type(each) for each in found] == [CandidateText, CandidateText]
    assert named_tuples(CandidateText, ()) == []
