"""Rules that move a memory to another tier or retention, as an explicit list.

    from memotherm.rules import DEFAULT_RULES, Select, Situation

    mem = memotherm.open("agent.db", rules=[*DEFAULT_RULES, MyRule()])

A rule has an id, says in `selects` which memories it looks at and when it runs, and decides in `decide`. In each
run, the first rule that decides to move a memory wins.
"""

from memotherm.rules.compaction import ActiveBlockers, FinishedWork, OtherHotMemories, UnusedPreferences
from memotherm.rules.cooling import UnusedMemories, UsedColdMemories
from memotherm.rules.promotion import FrequentlyRecalled, FrequentlyUsed, LeastRelevantHot, RelevantlyRecalled
from memotherm.rules.retention import ArchivedMemories, DeletedMemories, ExpiredMemories, UnusedForArchive
from memotherm.rules.rule import HotUse, Rule, Situation
from memotherm.rules.select import Select

__all__ = ["DEFAULT_RULES", "HotUse", "Rule", "Select", "Situation"]

#: The built-in rules, in the order in which they are asked.
DEFAULT_RULES: tuple[Rule, ...] = (
    # compact
    FinishedWork(),
    UnusedPreferences(),
    ActiveBlockers(),
    OtherHotMemories(),
    # maintain
    ExpiredMemories(),
    UnusedForArchive(),
    ArchivedMemories(),
    DeletedMemories(),
    UsedColdMemories(),
    UnusedMemories(),
    FrequentlyUsed(),
    # spill
    LeastRelevantHot(),
    # promote
    RelevantlyRecalled(),
    FrequentlyRecalled(),
)
