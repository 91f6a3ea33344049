"""A first day with the hook commands as Claude Code calls them; `make hosts` holds it with the real Claude Code."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

import memotherm
from memotherm.hooks.project import project_at
from tests.hosts.clients import HookCommands
from tests.hosts.day import AFTERNOON, DECISION, DECISION_PROMPT, FACTS, MORNING
from tests.hosts.first_day import CLIENTS, hold
from tests.interfaces.served import environment, served


def test_the_small_talk_of_the_first_day_is_not_captured(tmp_path: Path) -> None:
    """Otherwise the next small talk would be answered with it; what is said between is kept."""
    prompts = [prompt for visit in (*MORNING, *AFTERNOON) for prompt in visit.prompts]
    with memotherm.open(tmp_path / "memory.db", embedder="none") as mem:
        kept = {prompt.text for prompt in prompts if mem.capture(prompt.text).status == "stored"}

    asked = {prompt.text for prompt in prompts if prompt.text.endswith("?")}
    assert kept == {prompt.text for prompt in prompts if prompt.kind != "small talk"} - asked


@pytest.mark.slow
def test_every_answer_of_the_first_day_is_found_in_its_own_project(tmp_path: Path) -> None:
    """What was said and stored before a restart is injected when it is asked for, and nothing of the other project."""
    data = tmp_path / "data"
    data.mkdir()
    env = environment(data, HOME=str(tmp_path), PATH=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    settings = tmp_path / ".claude" / "settings.json"

    with served(data / "memory.db", home=data), memotherm.open(data / "memory.db", embedder="none") as mem:
        for project, facts in FACTS.items():
            tiers = ["hot", *["warm"] * (len(facts) - 1)]
            mem.scoped(project=project_at(tmp_path / project).local).remember_many(
                [{"content": fact, "tier": tier} for fact, tier in zip(facts, tiers, strict=True)]
            )
        harbor = mem.scoped(project=project_at(tmp_path / "harbor").local)
        tools = {DECISION_PROMPT: lambda: harbor.remember(DECISION, kind="decision")}
        sums = hold(tmp_path, env, CLIENTS["Claude Code"], lambda folder: HookCommands(settings, folder, env, tools))

    assert (sums["prompts"], sums["small talk"], sums["questions"]) == (20, 10, 6)
    assert [turn["prompt"] for turn in sums["turns"] if turn["answered"] is False] == []
    assert sums["memories of the other project injected"] == 0
    assert max(turn["tokens"] for turn in sums["turns"]) <= 2000
