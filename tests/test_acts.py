"""What the two small networks take a sentence for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

import memotherm.statements.acts as acts_module
from memotherm import Memotherm
from memotherm.embed.local import LocalEmbedder, knows_language, token_states
from memotherm.hooks.turns import contents_of
from memotherm.statements.acts import MOST_SENTENCES, Act, acts, likely
from memotherm.statements.kinds import classified
from tests.hostile import HOSTILE

SENTENCES = {
    Act.RULE: (
        "Screenshots belong in the docs folder, please keep them out of src",
        "every refund over 200 euros goes past Helga first",
        "Die Rechnungsnummer gehört immer in den Betreff",
        "les noms de branches commencent par le numéro du ticket",
        "los presupuestos se mandan siempre en PDF",
    ),
    Act.TASK: (
        "the gutters still need cleaning before winter",
        "I owe Tomasz a reply about the flat",
        "ich muss noch die Kaution überweisen",
    ),
    Act.DONE: ("gutters are clean", "replied to Tomasz this morning", "die Kaution ist überwiesen"),
    Act.CHANGE: (
        "the nightly job got moved to 4 am",
        "it's Bea who looks after the keys these days",
        "der Kurs findet jetzt in Raum 12 statt",
    ),
    Act.GUESS: ("we might end up with Kafka, who knows", "vielleicht nehmen wir doch den blauen Flyer"),
    Act.FACT: ("the spare key hangs behind the boiler", "the registry listens on 5050"),
    Act.PREFERENCE: ("I'd rather get bullet points than paragraphs",),
    Act.PROFILE: ("Imani here, I run the front desk at a physio practice",),
}


@pytest.mark.parametrize(("act", "text"), [(act, text) for act, texts in SENTENCES.items() for text in texts])
def test_a_sentence_does_one_act(act: Act, text: str) -> None:
    """Sentences that nobody trained on; no phrase of the lists is in most of them."""
    found = acts(text)

    assert max(found, key=lambda each: found[each]) is act
    assert sum(found.values()) == pytest.approx(1, abs=1e-4)


def test_a_habit_and_a_request_are_no_rules() -> None:
    """They have the words of rules."""
    for text in ("Olek never remembers the gate code", "don't send it yet", "it always takes ages to start"):
        assert likely(text, Act.RULE, Act.RULE_EVERYWHERE) < 0.5
        assert classified(text).name != "rule"


@pytest.mark.parametrize("text", ["", " ", "?", "\x00", "𝕬", "ا", *(each(3000) for each in HOSTILE.values())])
def test_any_text_has_probabilities(text: str) -> None:
    """Nothing raises, and nothing is not a number."""
    assert sum(acts(text).values()) == pytest.approx(1, abs=1e-3)


def test_the_first_layers_are_those_of_the_bundled_model() -> None:
    """The graph has no numbers of its own: it reads those of the model in the file beside it."""
    one, other = (token_states(text, 64) for text in ("the port is 5433", "the port is 5434"))

    assert one.shape == (len(one), LocalEmbedder().dimensions)
    assert abs(one - other)[:-3].max() < abs(one - other)[-3:].max()
    assert knows_language("the port is 5433")
    assert not knows_language("שלום לכולם, מה שלומכם היום")


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the sentences that the networks read, as they read them."""
    found: list[str] = []
    scores = acts_module._first_scores

    def reading(sentences: Sequence[str]) -> Any:
        found.extend(sentences)
        return scores(sentences)

    monkeypatch.setattr(acts_module, "_first_scores", reading)
    acts_module._acts.cache_clear()
    acts_module._read.clear()
    return found


def test_a_sentence_of_a_turn_is_read_once(open_mem: Callable[..., Memotherm], read: list[str]) -> None:
    """With and without the white space after it, by all that looks at it."""
    said = ["The lease of the boathouse ends in May.", "We never feed the otters by hand.", "Ilse repaired the pump."]
    open_mem().capture(" ".join(said))
    assert sorted(set(read)) == sorted(said)
    assert len(read) == len(said)


def test_a_document_costs_no_more_than_its_phrases(open_mem: Callable[..., Memotherm], read: list[str]) -> None:
    """Of a log of thousands of sentences the networks read nothing, whoever captures it; it is a message."""
    log = " ".join(f"Never feed otter {number} by hand." for number in range(MOST_SENTENCES + 1))
    captured = open_mem().capture(log)
    assert captured.memory is not None
    assert captured.memory.kind == "message"
    parts = contents_of(f"{log} From now on, label every sample with its date.", "", "bytes")
    assert [part.kind.name for part in parts if "label" in part.text] == ["rule"]
    assert not read
