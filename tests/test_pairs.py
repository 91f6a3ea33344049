"""What a newer text does to an older one."""

from __future__ import annotations

import pytest

from memotherm.statements.pairs import Effect, effect
from tests.hostile import HOSTILE


@pytest.mark.parametrize(
    ("old", "new", "answered"),
    [
        ("Deploys go out through ArgoCD", "we got rid of argo in march, it is all Flux these days", ""),
        ("Kunde Brandl will die Rechnungen als PDF", "Brandl will keine PDFs mehr, die brauchen XRechnung", ""),
        ("the limit is 100 requests", "250. We raised it with the last release", "Clients may send 100 requests."),
        ("测试数据库在5433端口", "端口换成5434了", ""),
    ],
)
def test_what_no_longer_holds_is_replaced(old: str, new: str, answered: str) -> None:
    """In other words than before, too, and as an answer."""
    assert effect(old, new, answered)[Effect.REPLACED] > 0.7


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the port of production is 5433", "staging listens on 5544"),
        ("we run the search on OpenSearch", "at my last job search ran on Solr, what a pain"),
        ("the wedding has 80 guests", "if my cousins came we'd be 95 at the wedding"),
        ("the port is 5433", "the port is 5433"),
        ("Ana has two children", "the build takes nine minutes"),
    ],
)
def test_another_thing_a_guess_and_a_repetition_replace_nothing(old: str, new: str) -> None:
    """Whatever words they share."""
    assert effect(old, new)[Effect.NOTHING] > 0.7


@pytest.mark.parametrize("text", ["", " ", "\x00", "𝕬", "?", *(each(3000) for each in HOSTILE.values())])
def test_any_text_has_effects(text: str) -> None:
    """Nothing raises, and nothing is not a number."""
    for old, new, answered in ((text, "the port is 5433", ""), ("the port is 5433", text, text), (text, text, text)):
        assert sum(effect(old, new, answered).values()) == pytest.approx(1, abs=1e-3)
