"""Every setting: its default, its bounds, and who may set it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from typing import Any, NamedTuple

from memotherm.errors import SettingsError

#: The longest time window, about a hundred years.
MAX_DAYS = 36_525

_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}

#: The user, password and key in an address.
_CREDENTIALS = re.compile(r"(?<=://)[^/?#]*@|(?<=[?&])(password|key)=[^&#]*")


class Boosts(NamedTuple):
    """What each priority adds to the score of a memory."""

    pinned: float = 1.0
    critical: float = 0.3
    important: float = 0.15
    normal: float = 0.0
    low: float = -0.1


class Secret(str):
    """A setting that stays in the process: it is not printed, hashed, sent or written to a file."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(public(self))


class Address(str):
    """The address of a store or service; it is printed and hashed without the credentials in it."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(public(self))


def public(value: Any) -> Any:  # noqa: ANN401 - the value of any setting
    """Return the value of a setting as others may see it: "(set)" for a secret, an address without credentials."""
    if isinstance(value, Secret):
        return "(set)" if value else ""
    return _CREDENTIALS.sub("", value) if isinstance(value, Address) else value


def setting(
    default: Any,  # noqa: ANN401 - the type is that of the annotated field
    description: str,
    *,
    low: float = 0,
    high: float = float("inf"),
    choices: tuple[str, ...] = (),
    project: bool | tuple[object, ...] = False,
    files: bool = True,
) -> Any:  # noqa: ANN401
    """Declare a setting.

    Args:
        default: The default value; its type decides how a value is read.
        description: One sentence for the reference page.
        low: The minimum of a number.
        high: The maximum of a number.
        choices: The allowed words; empty allows any text.
        project: Whether a project's settings file may set it without trust; a tuple allows only these values.
        files: Whether a settings file may set it.
    """
    metadata = {
        "description": description,
        "low": low,
        "high": high,
        "choices": choices,
        "project": project,
        "files": files,
    }
    return field(default=default, metadata=metadata)


def project_may_set(declared: Field[Any], value: object) -> bool:
    """Return whether a project's settings file may give a setting this value without trust."""
    allowed: bool | tuple[object, ...] = declared.metadata["project"]
    return allowed if isinstance(allowed, bool) else value in allowed


def checked(declared: Field[Any], value: object) -> object:
    """Return the value in the type of the setting, or raise `SettingsError`."""
    name, default = declared.name, declared.default
    if isinstance(default, bool):
        return as_bool(name, value)
    if isinstance(default, int | float):
        return _as_number(declared, value)
    if isinstance(default, Boosts):
        return _as_boosts(declared, value)
    if isinstance(default, tuple):
        return _as_words(name, value)
    if not isinstance(value, str):
        # A number can be a secret as well.
        given = f"a {type(value).__name__}" if isinstance(default, Secret) else repr(value)
        raise SettingsError(f"{name} must be text, not {given}")
    choices = declared.metadata["choices"]
    if choices and value not in choices:
        raise SettingsError(f"{name} must be one of {', '.join(choices)}, not {value!r}")
    if name == "retention":
        _retention_days(value)
    kind = type(default) if isinstance(default, str) else str
    return kind(value)


def as_bool(name: str, value: object) -> bool:
    """Return a truth value, which the environment gives as text."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _TRUE | _FALSE:
        return word in _TRUE
    raise SettingsError(f"{name} must be true or false, not {value!r}")


def _as_number(declared: Field[Any], value: object) -> float:
    name = declared.name
    whole = declared.type == "int"
    try:
        number = int(str(value)) if whole else float(str(value))
    except ValueError:
        raise SettingsError(f"{name} must be a {'whole ' if whole else ''}number, not {value!r}") from None
    low, high = declared.metadata["low"], declared.metadata["high"]
    if not low <= number <= high:
        bounds = f"at least {low}" if high == float("inf") else f"between {low} and {high}"
        raise SettingsError(f"{name} must be {bounds}, not {value!r}")
    return number


def _as_boosts(declared: Field[Any], value: object) -> Boosts:
    """Return numbers by priority, from a table or from text such as `critical=0.5, low=-0.2`; the others stay."""
    if isinstance(value, Boosts):
        value = value._asdict()
    if isinstance(value, str):
        value = {name: number for name, _, number in (entry.partition("=") for entry in value.split(","))}
    names = Boosts._fields
    if not isinstance(value, Mapping) or not {str(name).strip() for name in value} <= set(names):
        raise SettingsError(f"{declared.name} must be numbers by priority ({', '.join(names)}), not {value!r}")
    return Boosts(**{str(name).strip(): _as_number(declared, number) for name, number in value.items()})


def _as_words(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",") if word.strip()]
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise SettingsError(f"{name} must be a list of words, not {value!r}")
    return tuple(value)


#: The properties of the settings that `retention` sets.
RETENTION_WINDOWS = frozenset({"archive_after_days", "delete_after_days", "grace_days"})
_RETENTION = {"off": "0/0/7", "standard": "90/60/7"}


@functools.lru_cache(maxsize=16)
def _retention_days(text: str) -> list[float]:
    """Return the three windows that a value of `retention` means."""
    try:
        days = [float(window) for window in _RETENTION.get(text, text).split("/")]
    except ValueError:
        days = []
    if len(days) != 3 or not all(0 <= window <= MAX_DAYS for window in days):
        raise SettingsError(
            f"retention must be off, standard, or the days until a memory is archived, deleted and purged, such as "
            f"90/60/7 (each at most {MAX_DAYS}), not {text!r}"
        )
    return days


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
        return _retention_days(self.retention)[0]

    @property
    def delete_after_days(self) -> float:
        """Days after which an archived memory is deleted; 0: never."""
        return _retention_days(self.retention)[1]

    @property
    def grace_days(self) -> float:
        """Days in which a deleted memory can be restored before maintenance purges it."""
        return _retention_days(self.retention)[2]


#: Every setting by its name, group by group.
FIELDS = {declared.name: declared for declared in fields(Settings)}
#: Settings whose value stays in the process.
SECRET_NAMES = frozenset(name for name, declared in FIELDS.items() if isinstance(declared.default, Secret))
#: The settings to look at first, for the reference page.
ESSENTIAL = (
    *("store", "embedder", "key_file", "tokenizer", "redact", "hot_max_tokens", "recall_max_tokens"),
    *("decision_cold_after_days", "cool_warm_days", "retention"),
)
#: The groups of the reference page by the first setting of each: its title, and what it is about.
GROUPS = {
    "store": ("Store", "Where memories are stored, and how safely they are written."),
    "embedder": ("Embedding", "What turns text into vectors, and what counts tokens."),
    "default_tier": ("Memories", "What is accepted as a new memory, and where it starts."),
    "fusion": ("Recall and ranking", "How candidates are found and ranked."),
    "tiering": ("Tiers", "When compaction and recalls move memories between tiers."),
    "recall_max_tokens": ("Context", "What a context contains."),
    "hot_token_limit": (
        "Sessions",
        "The working memory of a session, and the flush before its context is compacted.",
    ),
    "cool_hot_days": (
        "Maintenance and retention",
        "What maintenance moves, hides and erases, in the whole store.",
    ),
    "notes_root": ("Notes", "How Markdown notes and transcripts are indexed and searched."),
    "mcp_tools": ("Interfaces", "What the tools and the server offer, and to whom."),
}
