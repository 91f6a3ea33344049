"""What the verbs are made of: the services of one tenant's store, built in one place."""

from __future__ import annotations

from memotherm.context.assembler import Assembler
from memotherm.model.clock import Clock
from memotherm.recall.as_of import PastStates
from memotherm.recall.feedback import FeedbackLog
from memotherm.recall.pipeline import Pipeline
from memotherm.recall.recaller import Recaller
from memotherm.recall.values import DEFAULT_RANKING, RankingOptions
from memotherm.remember.changes import Changes
from memotherm.remember.limits import Limits
from memotherm.remember.proposals import Proposals
from memotherm.remember.writer import MemoryWriter
from memotherm.storage.store import Store
from memotherm.tiers.active_policy import ActivePolicy
from memotherm.tiers.engine import ClockCheck, RuleEngine
from memotherm.tiers.working_memory import WorkingMemory
from memotherm.vectors.vectorizer import Vectorizer


class Services:
    """Everything that works on the store of one tenant; `vectorizer` and `past` may belong to another tenant."""

    def __init__(
        self,
        store: Store,
        all_tenants: Store,
        vectorizer: Vectorizer,
        active_policy: ActivePolicy,
        clock: Clock,
        ranking: RankingOptions = DEFAULT_RANKING,
        past: PastStates | None = None,
    ) -> None:
        self.store = store
        #: The store for what concerns all tenants together.
        self.all_tenants = all_tenants
        self.active_policy = active_policy
        self.clock = clock
        active = active_policy.last
        #: The number of the adoption whose rules and limits these services use.
        self.adoption = active.adoption
        self.settings = settings = active.settings
        self.vectorizer = vectorizer = vectorizer.on(store)
        self.pipeline = Pipeline(store, vectorizer, settings, ranking)
        self.past = past or PastStates(settings, ranking)
        limits = Limits(settings, active.rules)
        self.writer = MemoryWriter(store, vectorizer, limits, settings)
        self.changes = Changes(store, vectorizer, limits, settings)
        self.proposals = Proposals(store, self.changes, settings)
        self.recaller = Recaller(store, self.pipeline, settings)
        self.feedback = FeedbackLog(store, settings)
        self.assembler = Assembler(store, self.pipeline, settings)
        self.engine = RuleEngine(store, self.changes, vectorizer, active, ClockCheck(all_tenants, clock))
        self.working = WorkingMemory(store, vectorizer, limits, self.engine, settings)

    def read_only(self) -> Services:
        """Return the services of the same store, which refuse changes."""
        return self._of(self.store.for_reading(), self.all_tenants.for_reading())

    def on(self, store: Store) -> Services:
        """Return the services of another tenant's store, or of a part of this one."""
        return self._of(store, self.all_tenants)

    def _of(self, store: Store, all_tenants: Store) -> Services:
        options = self.pipeline.options
        return Services(store, all_tenants, self.vectorizer, self.active_policy, self.clock, options, self.past)
