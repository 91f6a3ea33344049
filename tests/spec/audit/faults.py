"""Named ways to break the product, and the checks that must notice each of them.

A fault replaces attributes of the package. As a program, this module applies a fault and runs the command line of the
broken product: `python tests/spec/audit/faults.py no_boosts recall harbour`.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[3])

#: Returns what stands in the place of an attribute of the product.
Change = Callable[[Any], Any]
#: What is changed, by its place: `package.module:Class.attribute`.
Fault = Mapping[str, Change]


def settings_of(**values: object) -> Fault:
    """Ignore what is configured, and use these values."""

    def changed(original: Any) -> Any:
        def start(self: object, **given: object) -> None:
            original(self, **{**given, **values})

        return start

    return {"memotherm.settings.schema:Settings.__init__": changed}


def returning(place: str, value: object) -> Fault:
    return {place: lambda original: lambda *arguments, **options: value}


def answering(place: str, change: Callable[[Any], Any]) -> Fault:
    """Change what a function returns."""
    return {place: lambda original: lambda *given, **options: change(original(*given, **options))}


def searching(**values: object) -> Fault:
    """Search with other tiers or kinds than a caller asked for; a function computes them from those."""

    def changed(original: Any) -> Any:
        def question(self: object, query: object, tiers: object, **options: Any) -> Any:
            wanted = {"tiers": tiers, **options}
            wanted |= {name: value(wanted[name]) if callable(value) else value for name, value in values.items()}
            return original(self, query, wanted.pop("tiers"), **wanted)

        return question

    return {"memotherm.facade.queries:Queries.question": changed}


def tiers(*names: str) -> tuple[Any, ...]:
    from memotherm import Tier

    return tuple(map(Tier, names))


def stored(**values: object) -> Fault:
    """Store other values than a caller gave."""
    return answering("memotherm.remember.draft:memory_of", lambda memory: replace(memory, **values))


def _first_tier_warm(original: Any) -> Any:
    return lambda asked, lifetime, settings: (tiers("warm")[0], "explicit")


def unchanged(original: Any) -> Any:
    """Accept a change of a memory, and change nothing."""
    return lambda self, scope, memory_id, value, cause: self.change(scope, memory_id, lambda memory: memory, cause)


def renamed(memory: Any) -> Any:
    return replace(memory, id=memory.id[:-1] + ("0" if memory.id[-1] != "0" else "1"))


def _flush_always(original: Any) -> Any:
    """Flush for heartbeats and in read-only workspaces as well."""
    return lambda self, total_tokens, context_window=200_000, **options: original(
        self, total_tokens, context_window, compactions=options.get("compactions")
    )


def overwriting(original: Any) -> Any:
    def append(file: Path, text: str) -> Any:
        file.unlink(missing_ok=True)
        return original(file, text)

    return append


def priority_of(name: str) -> Any:
    from memotherm import Priority

    return Priority(name)


def _any_word(original: Any) -> Any:
    """Take a word that names nothing for the first member."""
    return lambda cls, value: cls(str(value)) if str(value) in list(cls) else next(iter(cls))


def no_pins() -> Fault:
    return {
        **returning("memotherm.storage.searches:SearchStore.pinned", []),
    }


def _without_agent(original: Any) -> Any:
    """Store what is an agent's own in the scope around it."""
    return lambda self, scope, collection="": original(self, replace(scope, agent=None), collection)


def _added_once(original: Any) -> Any:
    """Return the memory that a session has already."""

    def add(self: Any, content: str, *given: Any, **options: Any) -> Any:
        return next((each for each in self.hot() if each.content == content), None) or original(
            self, content, *given, **options
        )

    return add


def _of_every_scope(original: Any) -> Any:
    """Ignore the scope and the retention that are asked for."""
    return lambda self, *given, **options: original(
        self, *given, **{**options, "retention": "any", "include_narrower": True}
    )


def _without_default(schema: Any) -> Any:
    return {name: value for name, value in schema.items() if name != "default"}


def _any_record(original: Any) -> Any:
    return lambda transaction, space, memory_id: transaction.get(memory_id)


def retain_nothing(original: Any) -> Any:
    return lambda self, ids, wanted, action, why="": [self.record(each).memory for each in ids]


def _without_penalties(weights: Any) -> Any:
    return replace(weights, penalties=weights.penalties * 0)


def _without_index(scripts: list[str]) -> list[str]:
    return [re.sub(r"CREATE INDEX memories_by_place [^;]*;", "", script) for script in scripts]


def one_line_later(original: Any) -> Any:
    return lambda path, lines, first, count: original(path, lines, first + 1, count)


def _latin_only(original: Any) -> Any:
    return lambda text, *, ends: original(text.encode("ascii", "replace").decode(), ends=ends)


FAULTS: dict[str, tuple[Callable[[], Fault], str]] = {
    "no_session_id": (
        lambda: {"memotherm.model.memory:Memory.session_id": lambda _: None},
        "an_item_has_the_names_of_the_document",
    ),
    "tiers_ignored": (
        lambda: {"memotherm.remember.draft:first_tier": _first_tier_warm},
        (
            "three_tiers_and_no_other a_tier_given_is_honoured an_item_has_all_fields_and_defaults "
            "adding_to_hot_starts_with_full_relevance"
        ),
    ),
    "new_memories_are_hot": (
        lambda: settings_of(default_tier="hot"),
        "stored_without_a_tier_is_warm the_initial_tier_follows_the_time_to_live",
    ),
    "new_memories_are_warm": (lambda: settings_of(default_tier="warm"), "the_default_can_be_hot"),
    "nothing_hot_is_injected": (
        lambda: settings_of(hot_max_tokens=0),
        (
            "hot_is_injected_at_session_start the_hot_block_holds_blockers_and_pinned_memories "
            "auto_recall_injects_hot_first_then_searches_warm"
        ),
    ),
    "hot_has_no_caps": (
        lambda: settings_of(hot_max_tokens=10**6, hot_max_facts=10**6, hot_token_limit=10**6),
        (
            "the_hot_block_has_at_most_hot_max_tokens promotion_never_passes_the_caps hot_never_exceeds_the_limit "
            "promotion_makes_room_first the_status_counts_each_tier"
        ),
    ),
    "contexts_search_cold": (
        lambda: settings_of(context_includes_cold=True),
        "cold_is_in_auto_recall_only_if_asked",
    ),
    "no_vectors": (
        lambda: answering(
            "memotherm.vectors.vectorizer:Vectorizer.for_query", lambda found: found._replace(vector=None)
        ),
        (
            "a_search_uses_words_and_vectors a_move_keeps_id_vector_and_scope "
            "the_old_vectors_serve_until_the_new_ones_are_complete"
        ),
    ),
    "every_tier_is_searched": (
        lambda: searching(tiers=tiers("hot", "warm", "cold")),
        (
            "memory_recall_searches_hot_and_warm_unless_cold_is_asked_for the_search_command_has_a_tier_filter "
            "a_recall_searches_warm_and_cold filters_run_inside_the_search"
        ),
    ),
    "cold_is_not_searched": (
        lambda: searching(tiers=lambda tiers: [tier for tier in tiers if tier != "cold"]),
        "a_recall_finds_what_was_spilled the_example_of_the_conversation a_tier_never_deletes",
    ),
    "filters_are_ignored": (lambda: searching(where=None), "the_query_takes_a_tier_and_a_limit"),
    "kinds_are_ignored": (lambda: searching(kinds=None), "a_recall_filters_by_type"),
    "nothing_is_compacted": (
        lambda: settings_of(tiering=False),
        (
            "the_end_of_a_session_compacts_if_the_setting_says_so compact_runs_now_and_prints_the_counts "
            "decisions_and_tasks_go_cold a_blocker_becomes_hot the_rules_run_in_order_and_a_second_run_moves_nothing"
        ),
    ),
    "no_compaction_at_the_end": (
        lambda: settings_of(compaction_on_session_end=False),
        "the_hook_of_a_session_end_compacts",
    ),
    "tasks_go_cold_at_once": (
        lambda: settings_of(task_cold_after_days=0, decision_cold_after_days=0),
        "tasks_go_cold_after_30_and_decisions_after_90_days",
    ),
    "preferences_leave_at_once": (
        lambda: settings_of(inactive_preference_days=0),
        "an_unused_hot_preference_becomes_warm",
    ),
    "only_blockers_stay_hot": (lambda: settings_of(strict_hot_blockers_only=True), "what_is_no_blocker_leaves_hot"),
    "other_defaults": (
        lambda: settings_of(hot_max_facts=51, chunk_tokens=401, warm_access_threshold=4),
        "the_settings_have_their_defaults_and_are_read the_settings_have_the_documented_defaults every_setting_is_read",
    ),
    "no_command_to_compact": (
        lambda: {"memotherm.cli.app:COMMANDS": lambda commands: {**commands, "compact": None}},
        "the_documents_are_there_and_linked",
    ),
    "priorities_are_forgotten": (
        lambda: stored(priority=priority_of("normal")),
        (
            "five_priorities_by_name_and_number low_is_included_only_if_space_permits pinned_is_permanent "
            "the_tier_is_metadata_on_add_and_a_filter_on_search priority_survives_a_checkpoint_and_its_restore"
        ),
    ),
    "everything_is_low": (lambda: stored(priority=priority_of("low")), "the_default_is_normal"),
    "tags_are_forgotten": (lambda: stored(tags=()), "tags_and_priorities_are_independent"),
    "priorities_cannot_be_changed": (
        lambda: {"memotherm.remember.changes:Changes.prioritize": unchanged},
        "set_memory_tier_changes_the_priority pinned_memories_survive_pruning_and_clearing",
    ),
    "moves_change_nothing": (
        lambda: {"memotherm.remember.changes:Changes.move": unchanged},
        "stored_tokens_count_in_every_tier",
    ),
    "moves_change_ids": (lambda: answering("memotherm.remember.changes:Changes.move", renamed), "ids_are_stable"),
    "pins_are_forgotten": (
        no_pins,
        (
            "pinned_is_always_included_until_unpinned get_relevant_memories_returns_text "
            "pinned_memories_do_not_count_towards_the_limit the_pinned_list_is_a_list "
            "pinned_memories_take_the_budget_first pinned_over_budget_cuts_the_oldest_and_says_so "
            "a_pinned_memory_is_not_repeated"
        ),
    ),
    "no_boosts": (
        lambda: settings_of(priority_boosts="critical=0, important=0, normal=0, low=0"),
        "boosts_decide_the_order the_boosts_are_read_from_the_settings",
    ),
    "the_pool_is_the_limit": (
        lambda: {
            "memotherm.recall.pipeline:FindCandidates._size": lambda original: lambda self, state: max(1, state.depth)
        },
        "the_answer_for_k_is_the_beginning_of_the_answer_for_more",
    ),
    "no_limits": (
        lambda: settings_of(max_pinned=10**6, max_critical=10**6),
        "limits_are_enforced_on_pinned_and_critical_only limits_hold_on_every_write_path",
    ),
    "few_tools": (
        lambda: settings_of(mcp_tools=("core",)),
        "no_new_action_type_is_needed the_tools_have_the_parameters_of_the_document",
    ),
    "agents_share_a_scope": (
        lambda: {"memotherm.storage.transaction:Transaction.space": _without_agent},
        "agents_are_isolated",
    ),
    "sessions_are_mixed": (
        lambda: {"memotherm.tiers.working_memory:WorkingMemory._own": _any_record},
        "sessions_are_isolated",
    ),
    "no_suggestions": (
        lambda: returning("memotherm.tiers.working_memory:WorkingMemory._suggestions", []),
        "status_suggests_to_spill status_suggests_to_recall the_example_of_the_status",
    ),
    "no_index_of_places": (
        lambda: answering("memotherm.storage.statements:migrations", _without_index),
        "one_index_answers_the_three_orders",
    ),
    "spills_ignore_ids": (
        lambda: {
            "memotherm.session:Session.spill": lambda original: lambda self, count=4, ids=None: original(self, count)
        },
        "a_spill_takes_the_least_relevant_and_oldest",
    ),
    "uses_are_not_counted": (
        lambda: returning("memotherm.storage.recall_log:count_uses", None),
        (
            "a_used_memory_is_spilled_to_warm each_result_counts_one_use "
            "reading_hot_counts_as_access_and_injecting_it_does_not"
        ),
    ),
    "recall_never_promotes": (
        lambda: settings_of(auto_promote=False),
        "a_recall_promotes_by_relevance_or_by_count a_recall_promotes_with_full_relevance",
    ),
    "nothing_is_pruned": (
        lambda: returning("memotherm.session:Session.prune", []),
        "status_suggests_to_prune_and_pruning_works the_other_interfaces_prune_clear_demote_and_delete",
    ),
    "hot_seems_empty": (
        lambda: answering("memotherm.tiers.tier_history:metrics", lambda found: replace(found, hot_utilization=0.0)),
        "the_six_metrics the_metrics_of_the_root_see_the_sessions",
    ),
    "sessions_never_end": (
        lambda: returning("memotherm.tiers.working_memory:WorkingMemory.end", None),
        "the_lifecycle_of_a_session_is_separate_from_tiers",
    ),
    "any_tier_is_accepted": (
        lambda: {
            "memotherm.model.memory:TierName": lambda names: str,
            "memotherm.model.memory:TierValue": lambda names: str,
            "memotherm.model.memory:_Axis.of": _any_word,
        },
        "a_tier_is_hot_warm_or_cold",
    ),
    "hidden_stays_visible": (
        lambda: {"memotherm.facade.view:View.retain": retain_nothing},
        "cold_is_recallable_and_archived_is_not a_deleted_memory_can_be_restored",
    ),
    "tiers_rank_alike": (
        lambda: answering("memotherm.recall.values:FusionWeights.of", _without_penalties),
        "closer_tiers_rank_higher a_newer_version_in_cold_does_not_outrank_hot",
    ),
    "use_moves_nothing": (
        lambda: settings_of(cool_hot_days=36_525, promote_access_count=10**6),
        "maintenance_promotes_and_demotes",
    ),
    "no_windows": (
        lambda: settings_of(retention="off"),
        "the_states_and_windows_of_retention",
    ),
    "nothing_expires": (lambda: stored(expires_at=None), "an_expired_memory_is_invisible_at_once"),
    "events_give_no_reason": (
        lambda: {
            "memotherm.facade.view:View.cause": lambda original: lambda self, action, why="": original(self, action)
        },
        "each_transition_is_one_event",
    ),
    "purged_contents_are_forgotten": (
        lambda: returning("memotherm.storage.tombstones:Tombstones.find", {}),
        "a_purged_memory_does_not_come_back",
    ),
    "duplicates_are_stored": (lambda: settings_of(duplicate_window_hours=0), "duplicates_are_detected"),
    "filler_is_stored": (
        lambda: returning("memotherm.text.phrases:filler_reason", ""),
        "filler_is_skipped_with_a_status",
    ),
    "a_late_flush": (lambda: settings_of(flush_soft_tokens=0), "a_flush_is_due_at_the_threshold"),
    "the_flush_is_not_announced": (
        lambda: {"memotherm.notes.flush:_SYSTEM": lambda original: "Write a note. {token}"},
        "the_system_prompt_says_that_compaction_is_near",
    ),
    "the_flush_names_no_file": (
        lambda: returning("memotherm.notes.flush:saving_to", "Remember what matters."),
        "a_flush_is_written_with_ordinary_tools the_curated_note_is_curated",
    ),
    "another_silent_token": (lambda: settings_of(silent_token="QUIET"), "a_silent_reply_is_recognised"),
    "hooks_do_not_flush": (
        lambda: settings_of(flush_in_hooks=False),
        "the_flush_comes_before_the_context_is_compacted",
    ),
    "notes_are_overwritten": (lambda: {"memotherm.notes.edits:append": overwriting}, "daily_notes_are_appended_to"),
    "a_flush_in_every_turn": (
        lambda: {"memotherm.tiers.working_memory:WorkingMemory.claim_flush": lambda original: lambda *_, due: due},
        "a_flush_is_due_once_in_each_cycle",
    ),
    "a_flush_for_everybody": (
        lambda: {"memotherm.session:Session.flush_due": _flush_always},
        "no_flush_for_heartbeats_and_read_only_workspaces",
    ),
    "days_are_those_of_greenwich": (lambda: settings_of(timezone="UTC"), "the_day_is_that_of_the_user"),
    "compacted_contexts_are_forgotten": (
        lambda: returning("memotherm.session:Session.context_compacted", None),
        "recall_runs_again_after_the_context_was_compacted",
    ),
    "recalled_blocks_are_kept": (
        lambda: {"memotherm.text.content:without_blocks": lambda original: lambda text: text},
        "recalled_text_is_not_captured_again",
    ),
    "contexts_repeat": (
        lambda: returning("memotherm.storage.state:StateStore.injected", {}),
        "injected_text_goes_to_the_tail",
    ),
    "notes_are_not_synchronised": (
        lambda: settings_of(sync_on_search=False, sync_on_session_start=False),
        "notes_are_discovered_when_searched a_session_start_synchronises",
    ),
    "notes_have_no_text": (
        lambda: answering("memotherm.notes.files:list_files", lambda found: type(found)()),
        "the_notes_of_an_agent_are_its_own",
    ),
    "chunks_do_not_overlap": (
        lambda: {"memotherm.text.chunks:_SHARE": lambda original: 0.0},
        "chunks_have_400_tokens_and_overlap",
    ),
    "another_model": (
        lambda: {"memotherm.embed.services:OpenAIEmbedder.default_model": lambda original: "text-embedding-ada-002"},
        "three_embedders_can_be_chosen",
    ),
    "nobody_watches": (lambda: settings_of(watch_notes=False), "the_watcher_indexes_what_the_flush_asked_for"),
    "citations_are_hidden": (lambda: settings_of(citations="off"), "memory_search_has_its_defaults_and_citations"),
    "citations_are_shown": (lambda: settings_of(citations="on"), "citations_are_hidden_in_groups"),
    "fixed_weights": (lambda: settings_of(vector_weight=0.7, text_weight=0.3), "the_weights_of_vectors_and_words_act"),
    "lines_start_at_0": (
        lambda: {"memotherm.notes.search:excerpt": one_line_later},
        "memory_get_reads_exact_lines_inside_the_folder",
    ),
    "transcripts_are_always_read": (
        lambda: settings_of(experimental_session_memory=True),
        "transcripts_are_indexed_when_enabled",
    ),
    "all_words_match_alike": (
        lambda: answering("memotherm.recall.evidence:GatherEvidence._coverage", lambda found: found * 0 + 1),
        "keyword_hits_are_scored_and_survive_the_floor",
    ),
    "deleted_notes_stay": (
        lambda: returning("memotherm.notes.index:NoteWriter.drop", None),
        "vectors_are_cached_and_deleted_files_vanish",
    ),
    "degradation_is_silent": (
        lambda: answering("memotherm.recall.pipeline:Pipeline.finish", lambda found: replace(found, degraded=())),
        "a_failing_embedder_degrades_and_says_so",
    ),
    "notes_do_not_age": (
        lambda: returning("memotherm.notes.search:age_factor", 1.0),
        "older_notes_decay_and_repeated_ones_are_dropped",
    ),
    "extra_paths_are_ignored": (
        lambda: {
            "memotherm.notes.files:Layout.__init__": lambda original: lambda self, root, extra=(): original(self, root)
        },
        "extra_paths_are_indexed",
    ),
    "the_same_words_are_stored_once": (
        lambda: {"memotherm.session:Session.add": _added_once},
        "the_same_words_twice_are_two_turns",
    ),
    "own_names_only": (
        lambda: answering(
            "memotherm.operations.forms:with_item_names",
            lambda found: {name: value for name, value in found.items() if name != "lastAccessedAt"},
        ),
        "an_item_is_last_accessed_when_it_is_inserted",
    ),
    "five_types": (
        lambda: settings_of(kinds=("message", "fact", "decision", "entity", "context")),
        "every_interface_takes_the_same_types",
    ),
    "schemas_are_bare": (
        lambda: answering("memotherm.mcp.schemas:_parameter", _without_default),
        "the_schemas_state_their_defaults",
    ),
    "results_without_order": (lambda: searching(listing=False), "an_empty_query_with_a_filter_lists"),
    "hidden_memories_are_found": (
        lambda: {"memotherm.memory:Memotherm.recall": _of_every_scope},
        "environment_project_and_retention_are_filters",
    ),
    "sources_are_ignored": (lambda: searching(sources=None), "source_is_a_filter"),
    "samples_are_ignored": (
        lambda: settings_of(
            hot_max_facts=51, max_pinned=6, priority_boosts="low=0", warm_access_threshold=4, chunk_tokens=401
        ),
        "the_configuration_samples_are_read_as_a_whole",
    ),
    "another_embedder": (lambda: settings_of(embedder="openai"), "the_default_embedder_is_local"),
    "one_prompt_for_all": (
        lambda: {"memotherm.notes.flush:_SYSTEM": lambda original: ""},
        "a_flush_is_a_run_of_its_own",
    ),
    "every_chat_is_direct": (
        lambda: returning("memotherm.notes.search:shows_citations", True),
        "the_kind_of_chat_is_named_or_detected",
    ),
    "transcripts_are_never_read": (
        lambda: settings_of(experimental_session_memory=False),
        "session_memory_alone_indexes_transcripts",
    ),
    "limits_hold_in_one_scope": (lambda: settings_of(max_pinned=10**6), "limits_count_what_is_visible"),
    "only_latin_words": (
        lambda: {"memotherm.text.words:_raw": _latin_only},
        "text_without_latin_letters_is_searchable",
    ),
}


def made(name: str) -> Callable[[], Fault]:
    """Return the fault of a name, or of a line."""
    from tests.spec.audit.line_faults import LINE_FAULTS

    return FAULTS[name][0] if name in FAULTS else LINE_FAULTS[name]


@contextmanager
def applied(name: str) -> Iterator[None]:
    """Break the package in this process, in every module that has imported what is changed."""
    with ExitStack() as undo:
        for place, change in made(name)().items():
            owner, attribute, original = located(place)
            bound = isinstance(original, classmethod | staticmethod)
            changed = type(original)(_alike(original.__func__, change)) if bound else _alike(original, change)
            shared = not isinstance(owner, type)
            users = [each for each in _loaded() if each.__dict__.get(attribute) is original] if shared else []
            for each in (owner, *users):
                setattr(each, attribute, changed)
                undo.callback(setattr, each, attribute, original)
        yield


def _alike(original: Any, change: Change) -> Any:
    """Return what stands in the place of an attribute; a function keeps its name and its parameters."""
    changed = change(original)
    return functools.wraps(original)(changed) if isinstance(original, FunctionType) else changed


def located(place: str) -> tuple[Any, str, Any]:
    """Return the module or class of an attribute, its name, and its value."""
    module, _, path = place.partition(":")
    *names, attribute = path.split(".")
    owner: Any = functools.reduce(getattr, names, import_module(module))
    return owner, attribute, owner.__dict__[attribute]


def _loaded() -> list[Any]:
    return [module for name, module in sys.modules.items() if name.startswith("memotherm.")]


def command(name: str) -> tuple[str, ...]:
    """Return the command of a product with a fault."""
    return (sys.executable, str(Path(__file__).resolve()), name)


if __name__ == "__main__":
    with applied(sys.argv.pop(1)):
        from memotherm.__main__ import main

        main()
