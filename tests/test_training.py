"""The parts of the training that need no PyTorch: manifest, questions, negatives, sampling, tokens and measures."""

from __future__ import annotations

import json
import lzma
import random
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from bench.quality import measured
from training.measure import difference, ndcg, searched_sets
from training.negatives import mine
from training.pair_groups import FOLDER, Group, Line, groups, pairs_of
from training.questions import Questions, read_questions
from training.sampling import Sampler, rate
from training.sources import Source, read_sources
from training.tokens import QUERY_PREFIX, Tokenizer, padded

from memotherm.embed.local import QUERY_PREFIX as PREFIX_OF_THE_PRODUCT
from memotherm.embed.wordpiece import WordPiece
from memotherm.statements.pairs import Effect

_WEIGHTS = Path(__file__).parent.parent / "src" / "memotherm" / "embed" / "weights"


def _file(folder: Path, *stores: dict[str, object]) -> Path:
    path = folder / "questions.jsonl.xz"
    path.write_bytes(lzma.compress("\n".join(map(json.dumps, stores)).encode()))
    return path


def _source(family: str, weight: float = 1.0) -> Source:
    return Source(name=family, url="", licence="own", family=family, weight=weight, questions=0)


def _questions(*stores: tuple[str, int]) -> Questions:
    """Stores of a family with so many texts and a question about each."""
    made = Questions()
    for family, size in stores:
        texts = [f"{family} {number}" for number in range(size)]
        made.add(_source(family), texts, ((f"Where is {text}?", [index]) for index, text in enumerate(texts)))
    return made


def test_every_source_has_a_licence_an_address_and_a_weight():
    """A source without an address is our own."""
    sources = read_sources()
    assert len(sources) > 20
    for source in sources.values():
        assert source.licence
        assert source.weight > 0
        assert source.questions > 0
        assert source.url.startswith("https://") or source.licence == "own"


def test_texts_of_several_stores_are_numbered_through(tmp_path):
    """An answer is a row of all texts, and a question knows its store."""
    store = {"src": "schemas", "lic": "own", "texts": ["a", "b"], "qs": [["x?", [1]], ["y?", [0, 1]]]}
    read = read_questions(_file(tmp_path, store, store), read_sources())
    assert read.texts == ["a", "b", "a", "b"]
    assert read.answers == [[1], [0, 1], [3], [2, 3]]
    assert read.store_of == [0, 0, 1, 1]
    assert [list(rows) for rows in read.store_questions] == [[0, 1], [2, 3]]


@pytest.mark.parametrize(("source", "licence"), [("nobody/knows", "MIT"), ("schemas", "MIT"), ("qamr", "")])
def test_a_source_without_its_licence_is_refused(tmp_path, source, licence):
    """It must be in the manifest with the licence that the file names."""
    path = _file(tmp_path, {"src": source, "lic": licence, "texts": ["a"], "qs": [["x?", [0]]]})
    with pytest.raises(ValueError, match=r"line 1: .* not in sources\.toml"):
        read_questions(path, read_sources())


def test_negatives_are_the_nearest_texts_of_the_store_that_do_not_answer():
    """Answers, copies of an answer and other stores are none."""
    questions = _questions(("one", 4), ("two", 2))
    texts = np.eye(6, 8, dtype=np.float32)
    texts[2] = texts[0] + 0.01 * texts[1]
    asked = np.zeros((6, 8), np.float32)
    asked[0] = [0.9, 0.1, 0.8, 0.3, 1, 1, 0, 0]
    mined = mine(questions, asked, texts)
    assert mined.negatives[0] == [3, 1]
    assert set(mined.negatives[4]) == {5}


def test_a_question_whose_answer_ranks_low_is_not_used():
    """Twenty texts that are nearer than the answer mean that it hardly answers."""
    questions = _questions(("one", 40))
    texts = np.eye(40, dtype=np.float32)
    asked = np.ones((40, 40), np.float32)
    asked[0, 0] = 0
    mined = mine(questions, asked, texts)
    assert mined.used == [False, *[True] * 39]


def test_families_are_drawn_by_their_weights():
    """However many questions and stores they have; questions that are not used are not drawn."""
    questions = _questions(*[("many", 9)] * 20, ("few", 9))
    questions.sources = [_source(source.family, 3 if source.family == "few" else 1) for source in questions.sources]
    used = [number % 2 == 0 for number in range(len(questions.questions))]
    drawn = Sampler(questions, used, random.Random(1)).draw(4000, together=3)
    families = Counter(questions.sources[questions.store_of[number]].family for number in drawn)
    assert len(drawn) == 4000
    assert all(used[number] for number in drawn)
    assert 0.7 < families["few"] / 4000 < 0.8


def test_the_learning_rate_rises_then_falls():
    """It ends above 0."""
    rates = [rate(1.0, step, 100) for step in range(100)]
    assert rates.index(max(rates)) == 9
    assert rates[0] < rates[5] > 0
    assert rates[99] == pytest.approx(0.02)


def test_tokens_are_those_of_the_product():
    """The same ids with the same prefix, cut at the same place."""
    words, tokens = WordPiece.from_file(_WEIGHTS / "vocab.txt"), Tokenizer()
    texts = ["Anna: Where's the café? Port 8080, naïve…", "x" * 300, "one two three " * 100, "东京 Straße", ""]
    assert QUERY_PREFIX == PREFIX_OF_THE_PRODUCT
    assert tokens.texts(texts, 192) == [words.encode(text, 192) for text in texts]
    assert tokens.questions(["Where?"]) == [words.encode(f"{QUERY_PREFIX}Where?", 96)]


def test_rows_are_padded_to_a_multiple_of_eight():
    """The mask tells tokens from padding."""
    ids, mask = padded([[101, 7, 102], [101, *[9] * 8, 102]])
    assert ids.shape == mask.shape == (2, 16)
    assert mask.sum(1).tolist() == [3, 10]
    assert ids[0, :4].tolist() == [101, 7, 102, 0]


@pytest.mark.parametrize("seed", range(5))
def test_ndcg_is_that_of_the_evaluation(seed):
    """`python -m bench quality` computes the same from a ranked list."""
    chance = np.random.default_rng(seed)
    scores, gold = chance.random(30), chance.random(30) < 0.2
    gold[3] = True
    ranked = [str(row) for row in np.argsort(-scores)]
    assert ndcg(scores, gold) == pytest.approx(measured(ranked, {str(row) for row in np.flatnonzero(gold)})["nDCG@10"])


def test_a_question_is_measured_among_the_texts_of_its_scope(tmp_path):
    """A text of another scope is no candidate, even if it is nearer."""
    folder = tmp_path / "talk"
    folder.mkdir()
    turns = [{"scope": scope, "tid": f"{scope}{n}", "text": f"{scope} {n}"} for scope in "ab" for n in range(2)]
    asked = [{"scope": "b", "qid": "1", "question": "which?", "gold_turns": ["b1"]}]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, turns)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    (data,) = searched_sets(tmp_path)
    texts = np.array([[1.0, 0], [0.9, 0], [0.5, 0], [0.6, 0]], np.float32)
    assert data.measure(np.array([[1.0, 0]], np.float32), texts).tolist() == [1.0]


def test_a_difference_has_an_interval_around_it():
    """By a bootstrap over the questions."""
    old = np.linspace(0, 0.5, 50)
    change, low, high = difference(old + np.tile([0.1, 0.3], 25), old)
    assert low < change < high
    assert change == pytest.approx(0.2)


def test_every_newer_line_is_about_one_older_line_of_its_group():
    """Groups of all languages are read, and each has a situation."""
    read = list(groups())
    assert {group.language for group in read} == {path.stem for path in FOLDER.glob("*.txt")}
    for group in read:
        assert group.situation
        older = [line for line in group.lines if line.is_older]
        for line in group.lines:
            assert line.is_older or sum(line.is_about(old) for old in older) == 1, (group.situation, line)


def test_groups_name_no_address_that_could_exist():
    """Mail and pages are at .example."""
    for path in FOLDER.glob("*.txt"):
        for host in re.findall(r"(?:\w@|://)([\w.-]+\.\w+)", path.read_text("utf-8")):
            assert host.endswith(".example"), (path.name, host)


def test_an_older_line_makes_a_pair_with_each_line_of_its_group():
    """Only the newer line with its number and about its kind has an effect on it."""
    lines = [
        Line("S", 1, "the tap is behind the shed"),
        Line("T", 1, "repaint the sign"),
        Line("U", 1, "no, next to the greenhouse", "The tap is behind the shed."),
        Line("D", 1, "the sign is blue again"),
    ]
    pairs = {(pair.old, pair.new): pair for pair in pairs_of(Group("english", "garden", lines))}
    assert len(pairs) == 8
    assert {key for key, pair in pairs.items() if pair.effect is not Effect.NOTHING} == {
        (lines[0].text, lines[2].text),
        (lines[1].text, lines[3].text),
    }
    replaced = pairs[lines[0].text, lines[2].text]
    assert (replaced.effect, replaced.kind, replaced.answered) == (Effect.REPLACED, "U", lines[2].answered)
    assert pairs[lines[1].text, lines[3].text].effect is Effect.DONE


@pytest.mark.parametrize(
    "text", ["S1 a line before a situation", "# garden\nX1 of an unknown kind", "# garden\nS no number"]
)
def test_a_malformed_line_is_refused(tmp_path, monkeypatch, text):
    """With its file."""
    (tmp_path / "english.txt").write_text(text)
    monkeypatch.setattr("training.pair_groups.FOLDER", tmp_path)
    with pytest.raises(ValueError, match=r"english\.txt"):
        list(groups())
