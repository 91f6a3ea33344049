"""ForgetEval: `python -m bench forget`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.__main__ import main

from memotherm import InvalidInput

CASE = {
    "id": "a", "category": "plain", "facts": ["Otters live in the river", "Bees live in the hive"],
    "ops": [{"op": "release", "query": "where otters live"}], "query": "Where do animals live?",
    "expect": ["hive"], "forbid": ["river"],
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMOTHERM_DATA", str(tmp_path))
    file = tmp_path / "forgeteval" / "small.jsonl"
    file.parent.mkdir()
    return file


def test_forgeteval_says_which_cases_fail(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is released must be gone, and the rest found."""
    file.write_text("\n".join(json.dumps({**CASE, "id": each, "expect": [each]}) for each in ("hive", "river")))
    assert main(["forget", "--quick", "--json", "--data", str(file.parent.parent)]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]

    assert [(row["what"], row["value"]) for row in rows] == [("small, all", 50.0), ("small, plain", 50.0)]
    assert rows[0]["notes"] == {"passed": 1, "cases": 2, "failed": {"river": "missing 'river'"}}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[]", "the case"), ("{", "JSON lines"), ('{"id": "a"}', "category"),
        (json.dumps({**CASE, "ops": [{"op": "drop", "query": "all"}]}), "ops"),
    ],
)  # fmt: skip
def test_a_faulty_file_is_refused_with_its_reason(file: Path, text: str, reason: str) -> None:
    """The file and the number of the case are named."""
    file.write_text(text)
    with pytest.raises(InvalidInput, match=reason):
        main(["forget", "--quick", "--data", str(file.parent)])


def test_a_folder_without_cases_is_refused(file: Path) -> None:
    """The files that it should have are named."""
    with pytest.raises(InvalidInput, match="has no cases"):
        main(["forget", "--quick", "--data", str(file.parent)])
