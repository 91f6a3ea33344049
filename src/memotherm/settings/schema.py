"""Every setting: its default, its bounds, and who may set it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from memotherm.settings.types import MAX_DAYS, Address, Boosts, Secret, checked, retention_days, setting

#: The properties of the settings that `retention` sets.
RETENTION_WINDOWS = frozenset({"archive_after_days", "delete_after_days", "grace_days"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Every setting with its default. 0 means 0, never "the default"."""

    # Store

    store: str = setting(Address(), "The store that `open()` uses by default; empty: a file in the user's data folder.")
    key: str = setting(
        Secret(),
        "SQLite: the encryption key, a passphrase or 64 hexadecimal digits; empty: not encrypted. "
        "Only the environment can set it.",
        files=False,
    )
    key_file: str = setting("", "SQLite: the file with the encryption key; only its owner may be able to read it.")
    api_key: str = setting(
        Secret(),
        "Remote store: the API key that `memotherm keys create` printed. Only the environment can set it.",
        files=False,
    )
    api_key_file: str = setting("", "Remote store: the file with the API key; only its owner may be able to read it.")
    synchronous: str = setting(
        "full",
        "SQLite: wait for the disk at every commit (full), or let the operating system write later (normal).",
        choices=("full", "normal"),
    )
    busy_timeout_ms: int = setting(
        30_000, "How long a writer waits for other writers, and on PostgreSQL also for a free connection."
    )
    postgres_pool_size: int = setting(
        10, "PostgreSQL: the maximum number of connections per process.", low=1, high=1000
    )

    # Embedding

    embedder: str = setting(
        Address("local"),
        "The embedder: local, openai, gemini, none, auto (local if its model can be run, else openai or gemini if "
        "there is a key), the URL of an OpenAI-compatible server, or a plugin's name.",
        project=("local", "none"),
    )
    fallback_embedder: str = setting(
        Address(),
        "The embedder to use while the first one fails; empty: none. Vectors of both are stored.",
        project=("", "local", "none"),
    )
    tokenizer: str = setting(
        "o200k_base", "What counts tokens: a vocabulary, a model's name, or the path of a tokenizer.json."
    )

    # Memories

    default_tier: str = setting(
        "warm", "The tier of a memory that is stored without one.", choices=("hot", "warm", "cold"), project=True
    )
    ttl_hot_days: float = setting(
        7, "A memory with at least this time to live starts in `default_tier`.", high=MAX_DAYS, project=True
    )
    ttl_warm_days: float = setting(
        1,
        "A memory with at least this time to live, but less than `ttl_hot_days`, starts no hotter than warm; a shorter "
        "one cold.",
        high=MAX_DAYS,
        project=True,
    )
    max_content_chars: int = setting(1_000_000, "Maximum length of a content, in characters.", low=1, project=True)
    duplicate_window_hours: float = setting(
        24 * MAX_DAYS,
        "Hours in which the same content in the same scope is stored once; the default: always, 0: never.",
        high=24 * MAX_DAYS,
        project=True,
    )
    redact: bool = setting(
        True, "Whether `capture`, hooks, transcripts and imports replace credentials and `<private>` passages."
    )
    redact_patterns: tuple[str, ...] = setting(
        (), "More to redact: regular expressions without groups and alternatives, such as ACME-[A-Z0-9]{16}."
    )
    propose_sources: tuple[str, ...] = setting(
        ("extracted",),
        "Sources whose memories wait until somebody approves them, such as extracted, hook or import:mem0.",
    )
    capture_exclude: tuple[str, ...] = setting(
        (),
        "Projects, folders (with everything in them) and sessions whose conversations are not captured;"
        " `*` matches any text.",
    )
    max_pinned: int = setting(5, "Maximum number of pinned memories that a scope sees.", project=True)
    max_critical: int = setting(10, "Maximum number of critical memories that a scope sees.", project=True)
    on_tier_limit: str = setting(
        "reject",
        "What happens when a priority is full: raise an error, or lower the priority of the oldest memory.",
        choices=("reject", "demote_oldest"),
        project=True,
    )

    # Recall and ranking

    fusion: str = setting(
        "evidence",
        "How vector scores and text scores are combined.",
        choices=("evidence", "weighted", "rrf"),
        project=True,
    )
    vector_weight: float = setting(
        0.7, "The weight of vectors against `text_weight`; 0 ranks by words only.", project=True
    )
    text_weight: float = setting(
        0.3, "The weight of words against `vector_weight`; 0 ranks by vectors only.", project=True
    )
    reranker: str = setting("", "The plugin that reranks the best candidates of a recall; empty: none.")
    pool_size: int = setting(
        200, "The number of candidates that a query ranks; also the maximum `limit`.", low=1, high=10_000, project=True
    )
    priority_boosts: Boosts = setting(  # noqa: RUF009 - a value
        Boosts(), "What each priority adds to the score of a memory.", low=-10, high=10, project=True
    )
    recall_log: str = setting(
        "text", "What the recall log stores of a query: its text, a hash, or nothing.", choices=("text", "hash", "off")
    )

    # Tiers

    tiering: bool = setting(True, "Whether compaction moves anything.", project=True)
    hot_max_tokens: int = setting(
        2000,
        "Maximum tokens of the hot memories in a context; `hot_token_limit` limits those that a session stores.",
        project=True,
    )
    hot_max_facts: int = setting(50, "Maximum number of memories that compaction leaves hot.", project=True)
    compaction_on_session_end: bool = setting(True, "Whether the end of a session runs compaction.", project=True)
    compact_every_run: bool = setting(
        False, "Whether compaction also runs at the end of every agent run.", project=True
    )
    inactive_preference_days: float = setting(
        7, "Days without use after which compaction moves a hot preference to warm.", high=MAX_DAYS, project=True
    )
    task_cold_after_days: float = setting(
        30,
        "Days without a change or use after which compaction moves a task to cold, unless its status says open; "
        "0: every task at once.",
        high=MAX_DAYS,
        project=True,
    )
    decision_cold_after_days: float = setting(
        90,
        "Days without a change or use after which compaction moves a decision to cold, unless its status says open; "
        "0: every decision at once.",
        high=MAX_DAYS,
        project=True,
    )
    strict_hot_blockers_only: bool = setting(False, "Whether compaction leaves nothing but blockers in hot.")
    promote_threshold: float = setting(
        0.85, "The relevance at which a recalled memory is promoted to hot.", high=1, project=True
    )
    promote_access_count: int = setting(
        3,
        "The uses, with no pause of 7 days in between, after which a recall or maintenance promotes a memory to hot.",
        low=1,
        project=True,
    )

    # Context

    recall_max_tokens: int = setting(
        800, "Tokens reserved for recalled memories, and their maximum in the context of a turn.", project=True
    )
    context_includes_cold: bool = setting(
        False, "Whether a context also searches cold memories; a recall takes `tiers`.", project=True
    )
    on_pinned_overflow: str = setting(
        "cut",
        "What happens when the pinned memories exceed the budget: leave out the oldest, or raise an error.",
        choices=("cut", "error"),
        project=True,
    )
    context_min_confidence: float = setting(
        0.3,
        "The minimum confidence of a search whose hits enter a context; 0: all hits enter, relevant or not.",
        high=1,
        project=True,
    )

    # Sessions

    hot_token_limit: int = setting(
        4000, "Maximum tokens that one session stores as hot; `hot_max_tokens` limits those of a context.", project=True
    )
    auto_spill: bool = setting(True, "Whether older hot memories are spilled when a new one needs space.", project=True)
    auto_promote: bool = setting(True, "Whether a session's recall promotes hits to hot.", project=True)
    warm_access_threshold: int = setting(
        3, "A spilled memory with at least this many uses becomes warm, otherwise cold.", project=True
    )
    max_cold_items: int = setting(
        1000,
        "The number of cold memories above which the status suggests pruning, and that `prune` keeps.",
        project=True,
    )
    flush_in_hooks: bool = setting(
        True, "Whether the prompt hook asks the agent to save memories when a flush is due.", project=True
    )
    recall_in_subagents: bool = setting(
        True, "Whether hooks show memories to the subagents of a coding agent.", project=True
    )
    hold_calls: bool = setting(
        False,
        "Whether hooks hold a call back once if a rule names its file or command, so that the agent decides again.",
        project=True,
    )
    branches_apart: bool = setting(
        False,
        "Whether messages, tasks and contexts that are stored on a branch of git stay out of contexts on others.",
        project=True,
    )
    silent_token: str = setting("NO_REPLY", "The agent's reply to a flush when there is nothing to save.")

    # Maintenance and retention

    cool_hot_days: float = setting(30, "Days without use after which a hot memory becomes warm.", high=MAX_DAYS)
    cool_warm_days: float = setting(180, "Days without use after which a warm memory becomes cold.", high=MAX_DAYS)
    retention: str = setting(
        "off",
        "Days without use after which a memory is archived, days after which an archived one is deleted, and days in "
        "which a deleted one can be restored before it is purged, such as 90/60/7 (`standard`); 0 in the first two: "
        "never; `off` is 0/0/7.",
    )
    log_days: float = setting(
        30,
        "Days that the recall log and the receipts of contexts (what was injected, and why) are kept; 0: no receipts.",
        high=MAX_DAYS,
    )

    # Notes

    notes_root: str = setting("", "The folder whose notes `memory_search` and `memory_get` read; empty: none.")
    note_paths: tuple[str, ...] = setting(
        (), "Files and folders inside the root that are indexed in addition to MEMORY.md and memory/."
    )
    chunk_tokens: int = setting(400, "The size of a chunk, in tokens.", low=16, project=True)
    sync_on_session_start: bool = setting(
        True, "Whether the start of a session synchronises the known folders and `notes_root`.", project=True
    )
    sync_on_search: bool = setting(True, "Whether a search or a context synchronises its notes first.", project=True)
    watch_notes: bool = setting(True, "Whether the server watches the files of `notes_root`.", project=True)
    watch_debounce_ms: int = setting(
        1500, "How long files must be unchanged before the watcher synchronises them.", project=True
    )
    citations: str = setting(
        "auto",
        "Whether results show their citation: in direct chats (auto), always, or never.",
        choices=("auto", "on", "off"),
        project=True,
    )
    timezone: str = setting(
        "", "The user's time zone, such as Europe/Berlin, for the date of a note; empty: the system's.", project=True
    )
    experimental_session_memory: bool = setting(
        False, "Whether transcripts of sessions (JSONL) are indexed with the notes.", project=(False,)
    )
    transcript_paths: tuple[str, ...] = setting(
        (), "The transcripts to index; empty: `sessions` in the folder of the notes."
    )

    # Interfaces

    mcp_tools: tuple[str, ...] = setting(
        ("standard",), "The tools that the MCP server offers: standard, core, one (a single tool), all, or names."
    )
    server_hosts: tuple[str, ...] = setting(
        (), "Host names accepted in requests, in addition to the server's address and localhost."
    )
    server_origins: tuple[str, ...] = setting((), "Origins of web pages whose scripts may call the server.")
    server_proxies: tuple[str, ...] = setting(
        (), "Addresses or networks of proxies whose X-Forwarded-For and X-Forwarded-Proto headers are trusted."
    )
    server_rate_per_minute: int = setting(30_000, "Maximum requests per key and minute; 0: unlimited.")
    daemon: bool = setting(True, "Whether hooks start a daemon that answers the next hooks and commands faster.")
    trust_project: bool = setting(False, "Whether a project's settings file may set everything.")

    def __post_init__(self) -> None:
        for name, declared in FIELDS.items():
            object.__setattr__(self, name, checked(declared, getattr(self, name)))

    @property
    def archive_after_days(self) -> float:
        """Days without use after which a memory is archived; 0: never."""
        return retention_days(self.retention)[0]

    @property
    def delete_after_days(self) -> float:
        """Days after which an archived memory is deleted; 0: never."""
        return retention_days(self.retention)[1]

    @property
    def grace_days(self) -> float:
        """Days in which a deleted memory can be restored before maintenance purges it."""
        return retention_days(self.retention)[2]


#: Every setting by its name, group by group.
FIELDS = {declared.name: declared for declared in fields(Settings)}
#: Settings whose value stays in the process.
SECRET_NAMES = frozenset(name for name, declared in FIELDS.items() if isinstance(declared.default, Secret))
