"""Tasks end: when a user says so, or by a call; nothing else closes one."""

from __future__ import annotations

import pytest

from memotherm import Memotherm
from memotherm.errors import InvalidInput
from memotherm.text.endings import ended

TASKS = (
    "The VAT report is due on 3 March",
    "Renew the TLS certificate of staging",
    "We need to finish the importer migration by Friday",
    "Remind me to call Ana about the lease",
    "Der Quartalsbericht muss bis Freitag fertig sein",
    "Merge PR 482 before the release",
    "Hay que entregar el informe de ventas antes del viernes",
    "Le rapport annuel est à rendre avant vendredi",
    "The onboarding guide has to be done by 2026-12-01",
    "Finish the sprint 12 review by Friday",
)


@pytest.mark.parametrize(
    ("said", "task", "status"),
    [
        ("The VAT report is done", 0, "done"),
        ("I sent the VAT report to the tax office", 0, "done"),
        ("VAT report: done!", 0, "done"),
        ("The TLS certificate of staging is renewed", 1, "done"),
        ("I finished the importer migration yesterday", 2, "done"),
        ("PR 482 is merged", 5, "done"),
        ("Der Quartalsbericht ist fertig", 4, "done"),
        ("El informe de ventas está entregado", 6, "done"),
        ("Le rapport annuel est envoyé", 7, "done"),
        ("The onboarding guide is cancelled", 8, "cancelled"),
        ("We shipped the onboarding guide", 8, "done"),
    ],
)
def test_what_a_user_reports_as_done_is_closed(mem: Memotherm, said: str, task: int, status: str) -> None:
    """With an event that says why, and that can be undone; the other tasks stay open."""
    for each in TASKS:
        mem.remember(each, kind="task")
    mem.capture(said)

    (closed,) = (memory for memory in mem.find(kind="task") if memory.metadata)
    assert (closed.content, closed.metadata["status"]) == (TASKS[task], status)
    assert {each.content for each in mem.tasks()} == {each for each in TASKS if each != TASKS[task]}
    event = mem.history(closed.id)[-1]
    assert (event.action, event.why) == ("finish", f"said: {said}")
    mem.undo(event.seq)
    assert len(mem.tasks()) == len(TASKS)


@pytest.mark.parametrize(
    "said",
    [
        "The VAT report is not done yet",
        "Is the VAT report done?",
        "When the VAT report is done, we celebrate",
        "The VAT report will be done tomorrow",
        "The VAT report should be finished by now",
        "The VAT report is almost done",
        "The VAT report must be sent",
        "I hope the VAT report gets done",
        "Let's get the VAT report done",
        "If the VAT report is done, tell me",
        "Nobody has done the VAT report, no",
        "The TLS certificate of production is renewed",
        "The TLS certificate of the mail server is fixed",
        "PR 483 is merged",
        "PR 48 is merged",
        "The importer is fixed",
        "The migration of the database is finished",
        "The report is done",
        "The annual report of the club is done",
        "The lease is done",
        "Done.",
        "All done, thanks",
        "Der Quartalsbericht ist noch nicht fertig",
        "Der Monatsbericht ist fertig",
        "Wenn der Quartalsbericht fertig ist, feiern wir",
        "El informe de ventas no está entregado",
        "El informe de compras está entregado",
        "Le rapport annuel n'est pas envoyé",
        "Le rapport mensuel est envoyé",
        "The onboarding guide needs to be done",
        "The onboarding guide is due",
        "The onboarding page is shipped",
        "The sprint 13 review is done",
        "The review is done",
        "Sprint 13 is finished",
        "Ana closed the window",
        "We deployed the shop",
        "I fixed the parser and merged the branch",
    ],
)
def test_nothing_else_closes_a_task(said: str) -> None:
    """Denials, questions, conditions, plans, and the end of something else that has a word in common."""
    assert list(ended(said, lambda: TASKS)) == []


def test_of_two_tasks_that_may_be_meant_none_is_closed(mem: Memotherm) -> None:
    """Nothing tells which."""
    for year in (2025, 2026):
        mem.remember(f"Send the VAT report for {year}", kind="task")
    mem.capture("The VAT report is sent")
    assert len(mem.tasks()) == 2
    mem.capture("The VAT report for 2025 is sent")
    assert [task.content for task in mem.tasks()] == ["Send the VAT report for 2026"]


def test_an_agent_closes_no_task_by_what_it_says(mem: Memotherm) -> None:
    """Only by a call, which the ledger shows."""
    task = mem.remember("Merge PR 482 before the release", kind="task")
    mem.capture("PR 482 is merged", metadata={"role": "assistant"})
    assert [each.id for each in mem.tasks()] == [task.id]
    assert mem.finish(task.id, "cancelled").metadata["status"] == "cancelled"
    assert mem.tasks() == []
    with pytest.raises(InvalidInput, match="is no task"):
        mem.finish(mem.remember("The sky is blue").id)
    with pytest.raises(InvalidInput, match="done or cancelled"):
        mem.finish(task.id, "shelved")  # type: ignore[arg-type]


def test_a_closed_task_is_not_at_the_start_of_a_session(mem: Memotherm) -> None:
    """And goes cold with the next compaction."""
    mem.remember(TASKS[0], kind="task")
    assert TASKS[0] in mem.session("s1").session_start().text
    mem.capture("The VAT report is done")
    assert TASKS[0] not in mem.session("s2").session_start().text
    mem.compact()
    assert [memory.tier for memory in mem.find(kind="task")] == ["cold"]
