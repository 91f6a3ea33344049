"""Silence: a context for a prompt that no memory answers has nothing that was searched for."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import anyio
import numpy as np
import pytest
from bench.silence import TEN_FACTS
from mcp import Client
from numpy.typing import NDArray
from starlette.testclient import TestClient

import memotherm
from memotherm import Memotherm
from memotherm.cli.app import run
from memotherm.embed.calibration import Calibration
from memotherm.mcp.server import build
from memotherm.recall.confidence import Signs, confidence
from memotherm.rest.app import application

Open = Callable[..., Memotherm]

THANKS = ("thanks!", "please continue", "danke, weiter", "merci beaucoup", "да, продолжай", "好的，谢谢", "はい", ":)")


@pytest.fixture(scope="module", name="facts")
def _facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of ten facts, embedded by the bundled model; one is pinned."""
    path = tmp_path_factory.mktemp("facts") / "facts.db"
    with memotherm.open(path) as mem:
        mem.remember_many([{"content": document.content} for document in TEN_FACTS.documents])
        mem.remember("Answer in English.", priority="pinned")
    return path


def recalled(context: memotherm.Context) -> list[str]:
    return [entry.content for entry in context.included if entry.section == "recalled"]


def test_a_prompt_without_a_subject_gets_pinned_memories_only(facts: Path) -> None:
    """In several languages; a recall returns what has any relevance."""
    with memotherm.open(facts) as mem:
        for prompt in THANKS:
            context = mem.context(prompt)

            assert [entry.content for entry in context.included] == ["Answer in English."], prompt
            assert context.confidence is not None
            assert context.confidence < mem.settings.context_min_confidence
            assert all(hit.why.relevance > 0 for hit in mem.recall(prompt, track=False)), prompt


def test_a_question_gets_its_answer(facts: Path) -> None:
    """Most of these questions share no word with the fact that answers them."""
    with memotherm.open(facts) as mem:
        contents = {document.id: document.content for document in TEN_FACTS.documents}
        found = [
            contents[gold] in recalled(mem.context(question.text, track=False))
            for question in TEN_FACTS.questions
            for gold in question.gold
        ]

    assert sum(found) >= len(found) - 1


CONVERSATION = (
    "Ana: Hey Tom! How was the trip to the lake with your sister?",
    "Tom: So good, thanks! We rented a canoe and Ruth caught her first trout.",
    "Ana: Wow, that sounds amazing. My weekend was quiet, I finished the blue quilt.",
    "Tom: Nice! Is that the one for your niece's birthday?",
    "Ana: Yes, she turns five in March. I still have to sew the border.",
    "Tom: You will make it. By the way, I start at the bakery on Monday.",
    "Ana: Congrats! Will you be baking or serving customers?",
    "Tom: Baking, from four in the morning. I bought two alarm clocks.",
    "Ana: Ha, you need them. Remember when you missed the train to Porto?",
    "Tom: Don't remind me. That cost me a concert ticket.",
    "Ana: Let's have dinner on Friday before your new life begins.",
    "Tom: Great idea, I'll bring bread.",
)


def test_commands_are_silent_in_a_short_conversation(tmp_path: Path) -> None:
    """They have words that tell something, but no memory stands out, and no memory has the words."""
    with memotherm.open(tmp_path / "conversation.db") as mem:
        mem.remember_many([{"content": turn, "kind": "message"} for turn in CONVERSATION])
        for prompt in ("bump the version", "inline this variable", "convert this to JSON"):
            assert recalled(mem.context(prompt, track=False)) == [], prompt
        for question, answer in (("where will Tom work?", 5), ("what fish did Ruth catch?", 1), ("quilt niece", 3)):
            assert CONVERSATION[answer] in recalled(mem.context(question, track=False)), question


def test_other_languages_get_their_answers_and_their_silence(tmp_path: Path) -> None:
    """The bundled model does not know them; confidence comes from words and static vectors."""
    facts = {
        "Анна живёт в Казани с двумя кошками.": "В каком городе живёт Анна?",
        "Тестовая база данных слушает порт 5433.": "какой порт у тестовой базы?",
        "王芳每个星期五去游泳。": "王芳星期几游泳？",
        "数据库备份保留三十五天。": "备份保留多少天？",
    }
    with memotherm.open(tmp_path / "languages.db") as mem:
        mem.remember_many([{"content": content} for content in facts])
        for content, question in facts.items():
            assert recalled(mem.context(question))[0] == content
        for prompt in ("спасибо тебе!", "хорошо, продолжай", "добрый вечер", "谢谢你", "好的，继续", "你今天怎么样？"):
            assert recalled(mem.context(prompt)) == [], prompt


def test_a_context_counts_nothing_as_used(mem: Memotherm) -> None:
    """Neither that of a query nor that of a turn, whether or not it includes what was found."""
    fact = mem.remember("the staging database is on port 5433")
    session = mem.session("s1")

    assert recalled(mem.context("thanks, please continue")) == []
    assert recalled(session.before_turn("thanks, please continue")) == []
    assert mem.find(kind="fact")[0].access_count == 0
    assert recalled(session.before_turn("which port has the staging database?")) == [fact.content]
    assert mem.find(kind="fact")[0].access_count == 0


def test_the_receipt_says_why_nothing_was_injected(mem: Memotherm) -> None:
    """As a note, and for each hit that was left out."""
    mem.remember("please keep the staging database on port 5433")

    context = mem.context("cool, please continue")

    (entry,) = context.left_out
    assert (entry.rule, entry.fits_at) == ("context_min_confidence", None)
    assert f"confidence {context.confidence:.2f}, needs " in entry.reason
    assert any("no clear answer" in note for note in context.receipt.notes)
    assert context.receipt.as_dict()["confidence"] == context.confidence
    assert mem.context().confidence is None


def test_a_floor_of_0_injects_whatever_was_found(open_mem: Open) -> None:
    """The setting switches the floor off."""
    mem = open_mem(settings={"context_min_confidence": 0})
    mem.remember("please keep the staging database on port 5433")

    assert recalled(mem.context("cool, please continue"))


def test_confidence_does_not_depend_on_the_limit(mem: Memotherm) -> None:
    """It is the same in a recall of one hit and of many, and lies between 0 and 1."""
    mem.remember_many([{"content": f"service {number} listens on port {9000 + number}"} for number in range(120)])

    confidences = {mem.recall("which port has service 7?", limit, track=False).confidence for limit in (1, 10, 150)}

    assert len(confidences) == 1
    assert 0.5 < confidences.pop() <= 1


def test_words_alone_decide_without_vectors(open_mem: Open) -> None:
    """A store without an embedder knows which words of a question its memories have."""
    mem = open_mem(embedder="none")
    mem.remember("the staging database is on port 5433, thanks to Ann")

    assert recalled(mem.context("thanks")) == []
    assert recalled(mem.context("which port has the staging database?"))
    assert mem.recall("penguin", track=False).confidence == 0


def test_rare_words_count_more_without_vectors(open_mem: Open) -> None:
    """What the first hit covers counts by the share of the words about a subject in the rarity of all words."""
    mem = open_mem(embedder="none")
    mem.remember("otter")

    found = mem.recall("otter perfect", track=False)

    everywhere, nowhere = math.log(1 + 0.5 / 1.5), math.log(1 + 1.5 / 0.5)
    text = found.hits[0].why.text
    assert text is not None
    covered = text * everywhere / (everywhere + nowhere)
    assert found.confidence == pytest.approx(1 / (1 + math.exp(3.8 - 5.7 * 0.5 - 2.4 * covered)), abs=1e-4)


class Planned:
    """An embedder whose texts have these cosines with every query."""

    name, dimensions = "planned", 2
    cosines: ClassVar = {"otter": 0.2, "ferry": 0.1, "lamp": 0.05, "tower": 0.0}
    calibration = Calibration(((0.0, 0.0), (1.0, 1.0)))

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        cosines = np.array([self.cosines.get(text, 1.0) for text in texts])
        return np.column_stack([cosines, np.sqrt(1 - cosines**2)]).astype(np.float32)


def test_confidence_is_a_logistic_function_of_its_signs(open_mem: Open) -> None:
    """With the weights that were fitted; by words alone, only the signs of words count."""
    signs = Signs(
        closeness=0.2, lead=0.3, spread=0.4, size=2.0, telling=0.5, known=0.5, covered=0.4, hint=0.5, asks=1.0
    )

    assert confidence(signs) == pytest.approx(1 / (1 + math.exp(-3.42)))
    assert confidence(signs._replace(closeness=None)) == pytest.approx(1 / (1 + math.exp(-0.01)))

    mem = open_mem(embedder=Planned())
    mem.remember_many([{"content": content} for content in Planned.cosines])
    found = mem.recall("otter?", min_score=0, track=False)
    # A usual cosine is 0.08, and the unit is 0.52; the cosines of four memories are too few for a spread.
    few = signs._replace(
        closeness=0.12 / 0.52, lead=0.1 / 0.52, spread=0.3, size=math.sqrt(2 * math.log(4)), covered=1.0, hint=0.0
    )
    # The last one has no relevance, and is no hit, but counts for confidence.
    assert [hit.memory.content for hit in found] == list(Planned.cosines)[:-1]
    assert found.confidence == pytest.approx(confidence(few), abs=1e-4)
    found = mem.recall("otter thanks zebra", min_score=0, track=False)
    assert found.confidence == pytest.approx(confidence(few._replace(telling=0.75, asks=0.0)), abs=1e-4)

    mem.remember("harbour")
    found = mem.recall("otter?", min_score=0, track=False)
    five = few._replace(
        closeness=0.92 / 0.52,
        lead=0.9 / 0.52,
        spread=float(np.std([*Planned.cosines.values(), 1.0])) / 0.52,
        size=math.sqrt(2 * math.log(5)),
    )
    assert found.confidence == pytest.approx(confidence(five), abs=1e-4)


def test_every_interface_tells_the_confidence(facts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command line, REST and MCP tell what Python tells."""
    question = "what is my dog called?"

    def printed(*command: str) -> Any:
        capsys.readouterr()
        assert run([*command, "--store", str(facts), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    async def called(mem: Memotherm, tool: str) -> Any:
        async with Client(build(mem, ["all"])) as client:
            return (await client.call_tool(tool, {"query": question})).structured_content

    with memotherm.open(facts) as mem:
        recall = mem.recall(question, track=False).confidence
        context = mem.context(question, track=False).confidence
        with TestClient(application(mem), base_url="http://127.0.0.1") as client:
            assert client.post("/recall", json={"query": question}).json()["confidence"] == recall
            assert client.post("/context", json={"query": question}).json()["receipt"]["confidence"] == context
        assert anyio.run(called, mem, "memory_recall")["confidence"] == recall
        assert anyio.run(called, mem, "memory_context")["confidence"] == context
    assert printed("recall", question)["confidence"] == recall
    assert printed("search", question)["confidence"] == recall
    assert printed("context", question)["receipt"]["confidence"] == context
