"""The harness that measures retrieval: forms of data, measures, ablations, and vectors kept between runs."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.__main__ import main
from bench.controls import cached
from bench.datasets import Document, EvaluationQuestion, EvaluationSet, load
from bench.quality import ABLATIONS, OURS, ablate, diagnose, difference, measured, run
from bench.silence import TEN_FACTS, beginnings
from numpy.typing import NDArray

from memotherm.errors import InvalidInput
from memotherm.testing import HashEmbedder

Bench = Callable[..., str]
_TURNS = [
    {"tid": "t1", "sid": "s", "scope": "a", "ts": "2026-01-01", "speaker": "Ann", "text": "the otter swims at night"},
    {"tid": "t2", "sid": "s", "scope": "a", "ts": "2026-01-01", "speaker": "Bob", "text": "yes, I saw it"},
    {"tid": "t3", "sid": "s", "scope": "a", "ts": "2026-01-02", "speaker": "Ann", "text": "bread is in the oven"},
    {"tid": "t4", "sid": "s", "scope": "b", "ts": "2026-01-02", "speaker": "Cid", "text": "the otter sleeps"},
]
_ASKED = [
    {"qid": "q1", "scope": "a", "question": "what does the otter do?", "gold_turns": ["t1"], "category": "one"},
    {"qid": "q2", "scope": "a", "question": "where is the bread?", "gold_turns": ["t3"], "category": "two"},
    {"qid": "q3", "scope": "b", "question": "no answer", "gold_turns": [], "category": "two"},
    {"qid": "q4", "scope": "b", "question": "left out", "gold_turns": ["t4"], "flags": ["abstention"]},
]


def silent(_what: str, _more: int, _total: int) -> None:
    """Say nothing of progress."""


def written(folder: Path, **files: Sequence[dict[str, Any]]) -> Path:
    """Write gzip JSON lines."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in files.items():
        lines = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    return folder


@pytest.fixture(name="data")
def _data(tmp_path: Path) -> Path:
    return written(tmp_path / "data" / "talk", docs=_TURNS, queries=_ASKED).parent


def test_a_folder_of_any_name_is_a_set(data: Path) -> None:
    """Questions without an answer, and those marked as not scored, are left out."""
    (found,) = load(data)

    assert (found.name, len(found.documents)) == ("talk", 4)
    assert [question.id for question in found.questions] == ["q1", "q2"]
    assert found.documents[0].metadata == {"speaker": "Ann", "thread": "s"}


def test_turns_of_sessions_ask_for_beliefs_too(tmp_path: Path) -> None:
    """The user's message is the query; the cases of single questions stay."""
    belief = {"_id": "b1", "user_id": "u", "canonical_name": "redis", "aliases": [], "content": "c", "scope": ["x"]}
    wanted = {"relevantBeliefs": {"shouldOnlyInclude": ["b1"]}}
    case = {"caseId": "c1", "userId": "u", "scope": ["x"], "query": "redis?", "expect": wanted}
    turn = {"turnIndex": 0, "userId": "u", "scope": ["x"], "userMessage": "and redis", "expect": wanted}
    for name, content in (
        ("beliefs.seed", [belief]),
        ("retrieval.cases", [case]),
        ("session-retrieval.cases", [{"caseId": "s1", "turns": [turn]}]),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(content), "utf-8")

    (found,) = load(tmp_path)

    assert [(question.id, question.text) for question in found.questions] == [("c1", "redis?"), ("s1/0", "and redis")]


def test_a_folder_without_sets_is_an_error(tmp_path: Path) -> None:
    """It says which forms are known."""
    with pytest.raises(InvalidInput, match="known form"):
        load(tmp_path)


def test_other_spellings_of_the_same_form(tmp_path: Path) -> None:
    """Ids and scopes may be numbers, times any ISO form; what is blank or has no answer is left out."""
    turn = {"scope": 7, "sid": 1, "tid": 1, "ts": "2024-01-02T03:04:05.5+02:00", "speaker": "Zoë", "text": "I like tea"}
    asked = {"scope": 7, "question": "what does Zoë like?", "gold_turns": [1]}
    questions = [
        {**asked, "qid": 1, "category": 4, "flags": None},
        {**asked, "qid": 2, "category": 5},
        {**asked, "qid": 3, "category": "adversarial"},
        {**asked, "qid": 4, "question": " "},
        {**asked, "qid": 5, "scope": "without documents"},
    ]
    written(tmp_path / "talk", docs=[turn, {"id": "blank", "title": "", "text": " "}], queries=questions)
    written(tmp_path / "unscored", docs=[turn], queries=[{**asked, "qid": 1, "gold_turns": []}])

    (found,) = load(tmp_path)
    result = run(found, tmp_path, silent, embedder=HashEmbedder())

    assert [(each.id, each.scope) for each in found.documents] == [("1", "7")]
    assert found.documents[0].at == datetime(2024, 1, 2, 1, 4, 5, 500_000, UTC)
    assert [question.id for question in found.questions] == ["1", "5"]
    assert [each["any@1"] for each in result.measures[OURS]] == [1.0, 0.0]


@pytest.mark.parametrize(
    ("line", "said"),
    [('{"qid": 1', "line 1: not JSON"), ("[1]", "not a JSON object"), ('{"qid": 1}', "no field 'question'")],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, said: str) -> None:
    """The error tells the file and what is wrong with it."""
    (tmp_path / "docs.jsonl").write_text('{"id": "d", "text": "words"}', "utf-8")
    (tmp_path / "queries.jsonl").write_text(line, "utf-8")

    with pytest.raises(InvalidInput, match=said):
        load(tmp_path)


def test_measures_of_a_ranked_list() -> None:
    """Two of two right ones in the first and third place."""
    values = measured(["a", "x", "b"], {"a", "b"})

    assert (values["any@1"], values["all@5"], values["MRR"]) == (1.0, 1.0, 1.0)
    assert values["nDCG@10"] == pytest.approx(1.5 / (1 + 1 / np.log2(3)))
    assert difference([values], [values], "MRR") == (0.0, 0.0, 0.0)


def test_a_set_runs_through_the_product_and_the_controls(data: Path, tmp_path: Path) -> None:
    """Every ranking has a value for every question."""
    (found,) = load(data)

    result = run(found, tmp_path, silent, embedder=HashEmbedder())

    stricter = {"BM25, our words", "0.7/0.3, our words", "RRF, our words"}
    assert {"BM25", "vector", "0.7/0.3", "RRF", OURS} | stricter == set(result.measures)
    assert result.lead("nDCG@10")[0] not in stricter
    assert all(len(values) == 2 for values in result.measures.values())
    assert result.table()[OURS]["any@1"] == 1.0


def test_each_idea_is_left_out_over_the_same_store(data: Path, tmp_path: Path) -> None:
    """What is left out is named, and the whole is there to compare with."""
    (found,) = load(data)

    result = ablate(found, tmp_path, silent, embedder=HashEmbedder())

    assert set(result.costs()) == set(ABLATIONS)
    assert set(result.measures) == {OURS, *ABLATIONS}


def test_a_question_is_explained(data: Path, tmp_path: Path) -> None:
    """The gold is marked among what came first."""
    (found,) = load(data)

    lines = diagnose(found, found.questions[0], tmp_path, silent, embedder=HashEmbedder())

    assert lines[0].startswith("q1: ")
    assert any("GOLD" in line for line in lines)


class Counting(HashEmbedder):
    """Counts how many texts it was asked for."""

    asked = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += len(texts)
        return super().embed(texts)


def test_kept_vectors_are_the_same_and_made_once(tmp_path: Path) -> None:
    """A second run asks the embedder for nothing; a file that was cut off loses its last vector only."""
    first, second, third = Counting(), Counting(), Counting()
    made = cached(first, tmp_path).embed(["otter", "bread", "otter"])
    kept = cached(second, tmp_path).embed(["bread", "otter"])

    assert np.array_equal(made, np.array([kept[1], kept[0], kept[1]]))
    assert (first.asked, second.asked) == (2, 0)

    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-5])
    assert np.array_equal(cached(third, tmp_path).embed(["otter", "bread"]), made[:2])
    assert third.asked == 1


@pytest.fixture(name="bench")
def _bench(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Bench:
    """Run `python -m bench` on the data, and return what it prints."""
    monkeypatch.setenv("MEMOTHERM_DATA", "")
    monkeypatch.setenv("MEMOTHERM_VECTORS", str(tmp_path / "vectors"))

    def printed(*words: str) -> str:
        assert main([*words, "--data", str(data)]) == 0
        return capsys.readouterr().out

    return printed


def test_the_command_prints_tables_and_json(bench: Bench, tmp_path: Path) -> None:
    """`bench quality` on a folder, with and without ablations, and its JSON in a file."""
    out = tmp_path / "found.json"
    printed = bench("quality", "--out", str(out))
    left_out = bench("quality", "--ablate", "--json")
    explained = bench("quality", "--diagnose", "q1")

    assert "nDCG@10" in printed
    assert json.loads(out.read_text("utf-8"))["sets"][0]["set"] == "talk"
    assert "author" in json.loads(left_out)["sets"][0]["left_out"]
    assert explained.startswith("q1: ")


def test_silence_is_measured_beside_what_it_costs(bench: Bench, data: Path) -> None:
    """`bench silence` reads the prompts of a folder, and measures a store of ten facts besides the sets."""
    prompts = [{"id": "a", "type": "ack", "prompt": "thank you"}, {"id": "c", "type": "command", "prompt": "sort it"}]
    written(data / "silence", prompts=prompts)

    facts, talk = json.loads(bench("silence", "--json"))["sets"]
    table = bench("silence", "--set", "talk")

    assert (facts["set"], facts["prompts"], facts["silent"]) == ("ten facts", 1, 1.0)
    assert (talk["set"], talk["n"], talk["prompts"]) == ("talk", 2, 2)
    assert facts["gold"] > 0.9
    assert facts["area"] > 0.99
    assert "area" in table


def test_a_conversation_is_also_cut_after_its_first_turns() -> None:
    """With the questions that those turns answer; a set of facts is not cut."""
    turns = tuple(Document(id=str(number), content=f"turn {number}", kind="message") for number in range(40))
    questions = tuple(EvaluationQuestion(id=name, text="?", gold=frozenset({name})) for name in ("29", "30"))

    (short,) = beginnings(EvaluationSet(name="talk", documents=turns, questions=questions))

    assert (short.name, short.documents, short.questions) == ("talk, 30 turns", turns[:30], questions[:1])
    assert beginnings(TEN_FACTS) == []
