"""Faults of the document about hot, warm and cold (H)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memotherm import Tier
from tests.spec.audit.faults.breaks import (
    MANY,
    NEVER,
    Fault,
    answering,
    calling,
    instead,
    prop,
    searching,
    settings,
    without,
    without_name,
    without_rules,
)

_FIRST_TIER = "memotherm.remember.draft:first_tier"
_HOT = "memotherm.context.assembler:Assembler._hot"


def _hot_block(keep: Callable[[Any], bool]) -> Fault:
    """Leave memories out of the hot block."""
    return answering(_HOT, lambda records: [record for record in records if keep(record.memory)])


def _no_hot_in_turns(original: Any) -> Any:
    return lambda self, request, selection: [] if request.question else original(self, request, selection)


FAULTS: Mapping[str, Fault] = {
    "H01": answering(_FIRST_TIER, lambda found: (Tier.WARM if found[0] is Tier.COLD else found[0], found[1])),
    "H02": settings(default_tier="hot"),
    "H03": calling(_FIRST_TIER, asked=None),
    "H04": calling("memotherm.session:Session.session_start", budget=0),
    "H05": _hot_block(lambda memory: memory.index),
    "H06": calling("memotherm.context.packer:Limits.__init__", hot_tokens=MANY),
    "H07": _hot_block(lambda memory: "blocker" not in memory.tags),
    "H08": instead(_HOT, _no_hot_in_turns),
    "H09": searching(tiers=(Tier.WARM, Tier.COLD)),
    "H10": answering("memotherm.vectors.vectorizer:Vectorizer.for_query", lambda found: found._replace(vector=None)),
    "H11": settings(context_includes_cold=True),
    "H12": searching(tiers=without(Tier.HOT)),
    "H13": calling("memotherm.tools.written:memory_recall", includeCold=False),
    "H14": calling("memotherm.memory:Memotherm.recall", tiers=("hot", "warm")),
    "H15": settings(compaction_on_session_end=False),
    "H16": settings(compaction_on_session_end=True),
    "H17": prop("memotherm.model.results:Compaction.cold", 0),
    "H18": settings(decision_cold_after_days=NEVER),
    "H19": settings(task_cold_after_days=NEVER),
    "H20": settings(inactive_preference_days=NEVER),
    "H21": settings(inactive_preference_days=0),
    "H22": without_rules("compact.blocker"),
    "H23": settings(hot_max_tokens=MANY),
    "H24": settings(hot_max_facts=MANY),
    "H25": without_rules("compact.focus"),
    "H26": answering("memotherm.tiers.rules.table:installed_rules", lambda rules: rules[::-1]),
    "H27": settings(inactive_preference_days=8),
    "H28": calling("memotherm.tiers.engine:RuleEngine.compact", dry_run=True),
    "H29": instead("memotherm.tiers.rules.rule:HotUse.of", lambda original: lambda cls, memories: cls()),
    "H30": instead(
        "memotherm.cli.app:COMMANDS",
        lambda commands: {name: command for name, command in commands.items() if name != "compact"},
    ),
    "H31": without_name("memoryTiering.hotMaxFacts"),
}
