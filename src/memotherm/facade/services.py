"""What the verbs are made of: the services of one tenant's store, built in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
from memotherm.settings import Settings
from memotherm.storage.store import Store
from memotherm.tiers.active_policy import ActivePolicy
from memotherm.tiers.engine import ClockCheck, RuleEngine
from memotherm.tiers.working_memory import WorkingMemory
from memotherm.vectors.vectorizer import Vectorizer


@dataclass(frozen=True, kw_only=True, slots=True)
class Services:
    """Everything that works on the store of one tenant."""

    store: Store
    #: The store for what concerns all tenants together.
    all_tenants: Store
    active_policy: ActivePolicy
    #: The number of the adoption whose rules and limits these services use.
    adoption: int
    settings: Settings
    clock: Clock
    vectorizer: Vectorizer
    pipeline: Pipeline
    past: PastStates
    writer: MemoryWriter
    changes: Changes
    proposals: Proposals
    recaller: Recaller
    feedback: FeedbackLog
    assembler: Assembler
    engine: RuleEngine
    working: WorkingMemory

    @classmethod
    def build(
        cls,
        store: Store,
        all_tenants: Store,
        vectorizer: Vectorizer,
        active_policy: ActivePolicy,
        clock: Clock,
        ranking: RankingOptions = DEFAULT_RANKING,
        past: PastStates | None = None,
    ) -> Services:
        """Build the services of a store; `vectorizer` and `past` may belong to another tenant of the same database."""
        active = active_policy.last
        rules, settings = active.rules, active.settings
        vectorizer = vectorizer.on(store)
        pipeline = Pipeline(store, vectorizer, settings, ranking)
        limits = Limits(settings, rules)
        writer = MemoryWriter(store, vectorizer, limits, settings)
        changes = Changes(store, vectorizer, limits, settings)
        engine = RuleEngine(store, changes, vectorizer, active, ClockCheck(all_tenants, clock))
        assembler = Assembler(store, pipeline, settings)
        return cls(
            store=store,
            all_tenants=all_tenants,
            active_policy=active_policy,
            adoption=active.adoption,
            settings=settings,
            clock=clock,
            vectorizer=vectorizer,
            pipeline=pipeline,
            past=past or PastStates(settings, ranking),
            writer=writer,
            changes=changes,
            proposals=Proposals(store, changes, settings),
            recaller=Recaller(store, pipeline, settings),
            feedback=FeedbackLog(store, settings),
            assembler=assembler,
            engine=engine,
            working=WorkingMemory(store, vectorizer, limits, engine, settings),
        )

    def read_only(self) -> Services:
        """Return the services of the same store, which refuse changes."""
        return replace(self, all_tenants=self.all_tenants.for_reading()).on(self.store.for_reading())

    def on(self, store: Store) -> Services:
        """Return the services of another tenant's store, or of a part of this one."""
        return Services.build(
            store,
            self.all_tenants,
            self.vectorizer,
            self.active_policy,
            self.clock,
            self.pipeline.options,
            self.past,
        )
