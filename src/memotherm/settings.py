"""Settings, and the only place that reads the environment.

Order of precedence: arguments, environment (`MEMOTHERM_*`), the project's TOML
(`memotherm.toml`, or `[tool.memotherm]` in `pyproject.toml`, in the working directory
or above it), the user's TOML, defaults. An unknown key is an error, because a misspelt
setting that is silently ignored is worse than none.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from memotherm.errors import SettingsError

__all__ = ["SECRET_NAMES", "Settings", "client_home", "data_home", "default_store", "isolated", "load", "origins"]

PREFIX = "MEMOTHERM_"
#: Environment variables that steer the program without being settings of a store.
_RESERVED = {"HOME", "PLUGINS", "TORTURE_KILLS", "BUDGET_CASES", "TEST_POSTGRES", "DATA", "VECTORS"}
#: A hundred years: longer windows are never meant.
_MOST_DAYS = 36_525
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


def _number(default: float, *, low: float = 0, high: float = float("inf")) -> Any:  # noqa: ANN401
    return field(default=default, metadata={"low": low, "high": high})


def _word(default: str, *words: str) -> Any:  # noqa: ANN401
    return field(default=default, metadata={"words": words})


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Every setting with its default. 0 means 0, never "the default"."""

    #: Where the store is when `open()` is given nothing; empty = the user's data folder.
    store: str = ""
    #: What makes vectors: local, openai, gemini, none, a URL, or a plugin's name.
    embedder: str = "local"
    #: The embedder that stands in when the first one fails; empty = none. Its vectors are kept beside the others.
    fallback_embedder: str = ""
    #: The reranker that orders the best candidates of a recall, by its plugin's name; empty = none.
    reranker: str = ""
    #: How many of the best candidates a reranker scores.
    rerank_candidates: int = _number(20, low=1, high=1000)
    #: The tier of a memory that is stored without one.
    default_tier: str = _word("warm", "hot", "warm", "cold")
    #: The longest content that is accepted, in characters.
    max_content_chars: int = _number(1_000_000, low=1)
    #: The kinds that are accepted; empty = any well-formed word.
    kinds: tuple[str, ...] = ()
    #: What is offered with fewer characters than this is not worth a memory.
    capture_min_chars: int = _number(10)
    #: Whether the same content in the same scope is one memory.
    deduplicate: bool = True
    #: A memory that lives at least this long starts hot; shorter ones warm or cold.
    ttl_hot_days: float = _number(7, high=_MOST_DAYS)
    #: A memory that lives at least this long (and less than `ttl_hot_days`) starts warm.
    ttl_warm_days: float = _number(1, high=_MOST_DAYS)

    #: How many memories of one scope may be pinned.
    max_pinned: int = _number(5)
    #: How many memories of one scope may be critical.
    max_critical: int = _number(10)
    #: What happens when a priority is full.
    on_tier_limit: str = _word("reject", "reject", "demote_oldest")
    #: What each priority adds to a score.
    boost_pinned: float = _number(1.0, low=-10, high=10)
    boost_critical: float = _number(0.3, low=-10, high=10)
    boost_important: float = _number(0.15, low=-10, high=10)
    boost_normal: float = _number(0.0, low=-10, high=10)
    boost_low: float = _number(-0.1, low=-10, high=10)

    #: The share of meaning and of words where `fusion` is weighted or rrf; they are normalised to sum 1.
    vector_weight: float = _number(0.7)
    text_weight: float = _number(0.3)
    #: How the two legs are fused.
    fusion: str = _word("evidence", "evidence", "weighted", "rrf")
    #: Candidates a query looks at, at most: both legs name them in turn. Also the highest limit.
    pool_size: int = _number(200, low=1, high=10_000)
    #: The relevance below which nothing is returned, unless a call says otherwise.
    min_score: float = _number(0.0, high=1)
    #: How much recent use may add to a score.
    use_weight: float = _number(0.02, high=1)
    #: Days after which the effect of the last use has halved.
    use_half_life_days: float = _number(30, low=0.001, high=_MOST_DAYS)
    #: What a query that spans all tiers takes off a warm and a cold memory.
    warm_penalty: float = _number(0.02, high=1)
    cold_penalty: float = _number(0.1, high=1)
    #: Where a search has more vectors than this, it scans 4-bit codes (SQLite) or an index (PostgreSQL)
    #: and rescores exactly.
    exact_band_limit: int = _number(20_000)

    #: Whether compaction moves anything.
    tiering: bool = True
    #: What the hot block may cost, and how many memories compaction may keep in it.
    hot_max_tokens: int = _number(2000)
    hot_max_facts: int = _number(50)
    #: Whether the end of a session runs compaction.
    compaction_on_session_end: bool = True
    #: A hot preference that was not used for this long goes warm.
    inactive_preference_days: float = _number(7, high=_MOST_DAYS)
    #: How long a decision or a task stays where it is before compaction takes it for done; 0 = not at all.
    task_cold_after_days: float = _number(0, high=_MOST_DAYS)
    #: Whether compaction leaves nothing but blockers in hot, as the source's text says literally.
    strict_hot_blockers_only: bool = False
    #: Whether compaction also runs at the end of every run of the agent, not only at the end of a session.
    compact_every_run: bool = False

    #: Context: what is kept free for recalled text, and the most that it may cost in a turn's block.
    recall_max_tokens: int = _number(800)
    #: Context: whether what is recalled for a turn may come from cold as well.
    auto_recall_include_cold: bool = False
    #: Context: when the pinned memories alone exceed the budget, the oldest are cut, or it is an error.
    on_pinned_overflow: str = _word("cut", "cut", "error")
    #: Context: whether a memory that is put into a context counts as used.
    count_injected: bool = True
    #: Context: how many hits of the search ask for a place, and the relevance below which none does.
    context_hits: int = _number(100, high=10_000)
    context_min_score: float = _number(0.0, high=1)
    #: Context: the most that one memory may cost, unless it is pinned; a longer one is shortened.
    context_entry_tokens: int = _number(500, low=1)
    #: Context: who speaks in the format `messages`.
    context_role: str = _word("user", "user", "system", "developer", "tool")
    #: What counts tokens: a vocabulary, a model's name, or the path of a tokenizer.json.
    tokenizer: str = "o200k_base"

    #: Sessions: how many tokens of hot memories one session may have.
    hot_token_limit: int = _number(4000)
    #: Sessions: a spilled memory with at least this many uses goes warm, others cold.
    warm_access_threshold: int = _number(3)
    #: Sessions: whether hot memories make room by themselves when a new one comes.
    auto_spill: bool = True
    #: Sessions: whether recalled memories that earned it come back to hot.
    auto_promote: bool = True
    #: A recalled memory is promoted at this relevance, or after this many uses in the window of use.
    promote_threshold: float = _number(0.85, high=1)
    promote_access_count: int = _number(3, low=1)
    use_window_days: float = _number(7, high=_MOST_DAYS)
    #: Sessions: when the status suggests to spill (share of the limit) and to prune (cold memories).
    spill_suggested_at: float = _number(0.9, high=1)
    max_cold_items: int = _number(1000)

    #: Maintenance: days without use after which hot goes warm, and warm goes cold.
    cool_hot_days: float = _number(30, high=_MOST_DAYS)
    cool_warm_days: float = _number(180, high=_MOST_DAYS)
    #: Maintenance: heat (use, halved every `heat_half_life_days`) that keeps a memory hot all the same.
    keep_hot_heat: float = _number(1.0)
    heat_half_life_days: float = _number(30, low=0.001, high=_MOST_DAYS)
    #: Maintenance: uses after which a cold memory comes back to warm.
    warm_again_uses: int = _number(1, low=1)
    #: Maintenance: the least time in a tier before use or disuse moves a memory again.
    min_stay_days: float = _number(1, high=_MOST_DAYS)
    #: Retention: days after which an unused memory is archived, an archived one deleted; 0 = never.
    archive_after_days: float = _number(0, high=_MOST_DAYS)
    delete_after_days: float = _number(0, high=_MOST_DAYS)
    #: Retention: days in which a deleted memory can be restored before maintenance purges it.
    grace_days: float = _number(7, high=_MOST_DAYS)
    #: How long the log of recalls is kept.
    recall_log_days: float = _number(30, high=_MOST_DAYS)
    #: Background maintenance: the time between two runs, and how much it varies.
    maintain_every_minutes: float = _number(60, low=0.0001)
    maintain_jitter: float = _number(0.2, high=1)

    #: A recall counts as a hit when its best relevance is at least this.
    hit_threshold: float = _number(0.35, high=1)

    #: What the log of recalls keeps of a query.
    log_recalls: str = _word("text", "text", "hash", "off")

    #: SQLite: wait for the disk at every commit (full), or let it follow later (normal).
    synchronous: str = _word("full", "full", "normal")
    #: How long a writer waits for other writers, and on PostgreSQL also for a free connection.
    busy_timeout_ms: int = _number(30_000)
    #: PostgreSQL: the URL of a replica that recalls are read from; empty = they are read where they are written.
    postgres_replica: str = ""
    #: PostgreSQL: how many connections one process uses at most, of each server.
    postgres_pool_size: int = _number(10, low=1, high=1000)

    #: Notes: the size of a chunk, and how much of it the next one repeats, in tokens.
    chunk_tokens: int = _number(400, low=16)
    chunk_overlap: int = _number(80)
    #: Notes: files and folders inside the root that are indexed beside MEMORY.md and memory/.
    note_paths: tuple[str, ...] = ()
    #: Notes: the largest file that is indexed, in bytes.
    note_max_bytes: int = _number(32_000_000, low=1)
    #: Notes: whether known folders are brought up to date when a session begins, and before every search.
    sync_on_session_start: bool = True
    sync_on_search: bool = True
    #: Notes: whether a long-lived door watches the files, and how long they must rest before it looks.
    watch_notes: bool = True
    watch_debounce_ms: int = _number(1500)
    #: Notes: how many tokens of the curated file are kept hot; the rest of it is warm.
    note_hot_tokens: int = _number(1000)
    #: Notes: a dated note goes cold when it is this old.
    note_cold_days: float = _number(30, high=_MOST_DAYS)
    #: Notes: whether results show their citation: in direct chats (auto), always, or never.
    citations: str = _word("auto", "auto", "on", "off")
    #: Notes: whether older dated notes count less, and after how many days they count half.
    note_decay: bool = False
    note_half_life_days: float = _number(30, low=0.001, high=_MOST_DAYS)
    #: Notes: whether results that repeat each other make room, and how much relevance outweighs that.
    note_diversity: bool = False
    note_diversity_lambda: float = _number(0.7, high=1)
    #: The user's time zone, such as Europe/Berlin, for the day of a note; empty = the system's.
    timezone: str = ""
    #: Flush: what an agent answers when there is nothing to save.
    silent_token: str = "NO_REPLY"  # noqa: S105
    #: Flush: how many tokens before the end of the context window it is due: the host's reserve, and ours.
    flush_reserve_tokens: int = _number(20_000)
    flush_soft_tokens: int = _number(4000)
    #: Flush: other prompts than ours; {file} stands for the file to append to, {token} for the silent token.
    flush_prompt: str = ""
    flush_system_prompt: str = ""
    #: Whether transcripts of sessions (JSONL) are indexed with the notes, and where they are.
    experimental_session_memory: bool = False
    transcript_paths: tuple[str, ...] = ()
    #: Transcripts are indexed again when they have grown by so many bytes or messages.
    transcript_bytes: int = _number(100_000)
    transcript_messages: int = _number(50)

    #: Doors: the folder whose notes `memory_search` and `memory_get` read; empty = none.
    notes_root: str = ""
    #: Doors: the tools that the MCP server offers: all, core, one (a single tool), or names.
    mcp_tools: tuple[str, ...] = ("all",)
    #: Doors: the most tokens that one answer of a tool may cost; what does not fit is told.
    tool_result_tokens: int = _number(8000, low=200)
    #: Server: where it listens; an address that others can reach needs API keys.
    server_host: str = "127.0.0.1"
    server_port: int = _number(8077, high=65_535)
    #: Server: names that requests may call it by, beside its address and localhost.
    server_hosts: tuple[str, ...] = ()
    #: Server: web pages (origins) whose scripts may call it.
    server_origins: tuple[str, ...] = ()
    #: Server: the largest request body, in bytes, and the most requests of one key in a minute; 0 = any number.
    server_body_bytes: int = _number(4_194_304, low=1)
    server_rate_per_minute: int = _number(30_000)

    #: Whether a project's settings file may name services, servers and keys; never read from such a file.
    trust_project: bool = False
    #: The API key for an OpenAI-compatible embedder (also read from OPENAI_API_KEY).
    openai_api_key: str = field(default="", repr=False)
    #: The API key for Gemini (also read from GEMINI_API_KEY or GOOGLE_API_KEY).
    gemini_api_key: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, _checked(each.name, getattr(self, each.name)))


_FIELDS = {each.name: each for each in fields(Settings)}
_SECRETS = {
    "openai_api_key": ("OPENAI_API_KEY",),
    "gemini_api_key": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
#: Settings whose value is never shown.
SECRET_NAMES = frozenset(_SECRETS)


def load(
    overrides: Settings | Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """Read the settings; a `Settings` instance is taken as it is."""
    if isinstance(overrides, Settings):
        return overrides
    values: dict[str, Any] = {}
    for _, layer in reversed(list(_layers(overrides or {}, environ, folder))):
        values.update(layer)
    return replace(Settings(), **values)


def origins(
    overrides: Mapping[str, Any] | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> dict[str, str]:
    """Say for every setting where its value comes from."""
    found = dict.fromkeys(_FIELDS, "default")
    for origin, layer in reversed(list(_layers(overrides or {}, environ, folder))):
        found.update(dict.fromkeys(layer, origin))
    return found


def default_store(settings: Settings, environ: Mapping[str, str] | None = None) -> str:
    """Return where the store is when nobody names one."""
    return settings.store or str(data_home(environ) / "memory.db")


def data_home(environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder for the user's store and what belongs to it."""
    home = (os.environ if environ is None else environ).get(PREFIX + "HOME")
    if home:
        return Path(home)
    import platformdirs

    return platformdirs.user_data_path("memotherm", appauthor=False)


def client_home(variable: str, folder: str, environ: Mapping[str, str] | None = None) -> Path:
    """Return the folder where another program keeps its settings: as its own variable says, or in the home."""
    named = (os.environ if environ is None else environ).get(variable)
    return Path(named).expanduser() if named else Path.home() / folder


def isolated(home: Path, environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a process that shall use that home, and no setting of this one."""
    known = os.environ if environ is None else environ
    return {**{name: value for name, value in known.items() if not name.startswith(PREFIX)}, PREFIX + "HOME": str(home)}


def _layers(
    overrides: Mapping[str, Any], environ: Mapping[str, str] | None, folder: Path | None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (origin, values) from the strongest layer to the weakest."""
    environ = os.environ if environ is None else environ
    yield "argument", _known(overrides, "the arguments")
    yield "environment", _from_environment(environ)
    project = _project_file(folder or Path.cwd())
    if project is not None:
        found = _from_toml(project)
        if not _trusts_projects(overrides, environ):
            _require_harmless(found, project)
        yield str(project), found
    user = _user_file(environ)
    if user.is_file():
        yield str(user), _from_toml(user)


def _trusts_projects(overrides: Mapping[str, Any], environ: Mapping[str, str]) -> bool:
    """Tell whether the person, and not the project itself, says that project files may name other machines."""
    user = _user_file(environ)
    told = (
        overrides.get("trust_project"),
        environ.get(f"{PREFIX}TRUST_PROJECT"),
        _from_toml(user).get("trust_project") if user.is_file() else None,
    )
    return next((_as_bool("trust_project", value) for value in told if value is not None), False)


def _require_harmless(values: Mapping[str, Any], path: Path) -> None:
    """Refuse a project file that would send memories to another machine: it may come with a cloned repository."""
    store = str(values.get("store", ""))
    embedders = (str(values.get("embedder", "local")), str(values.get("fallback_embedder", "") or "none"))
    near = all(each.partition("?")[0] in ("local", "none") for each in embedders)
    far = not near or "://" in store.removeprefix("sqlite://") or bool(values.get("postgres_replica"))
    if far or "trust_project" in values or any(name in values for name in _SECRETS):
        raise SettingsError(
            f"{path} names a service, a server or a key: set MEMOTHERM_TRUST_PROJECT=1 (or trust_project = true in "
            "your own config.toml) if you trust this project with your memories"
        )


def _from_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    named = {
        key.removeprefix(PREFIX).lower(): value
        for key, value in environ.items()
        if key.startswith(PREFIX) and key.removeprefix(PREFIX) not in _RESERVED
    }
    for setting, variables in _SECRETS.items():
        found = next((environ[name] for name in variables if environ.get(name)), None)
        if found and setting not in named:
            named[setting] = found
    return _known(named, "the environment")


def _from_toml(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as exc:
        raise SettingsError(f"cannot read the settings in {path}: {exc}") from exc
    if path.name == "pyproject.toml":
        data = data.get("tool", {}).get("memotherm", {})
    return _known(data, str(path))


def _project_file(folder: Path) -> Path | None:
    for each in (folder, *folder.parents):
        own = each / "memotherm.toml"
        if own.is_file():
            return own
        shared = each / "pyproject.toml"
        if shared.is_file() and "[tool.memotherm]" in shared.read_text("utf-8", errors="replace"):
            return shared
    return None


def _user_file(environ: Mapping[str, str]) -> Path:
    home = environ.get(PREFIX + "HOME")
    if home:
        return Path(home) / "config.toml"
    import platformdirs

    return platformdirs.user_config_path("memotherm", appauthor=False) / "config.toml"


def _known(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    for name in values:
        if name not in _FIELDS:
            close = difflib.get_close_matches(name, _FIELDS, n=1)
            hint = f": did you mean {close[0]!r}?" if close else ""
            raise SettingsError(f"unknown setting {name!r} in {where}{hint}")
    return dict(values)


def _checked(name: str, value: object) -> object:
    """Return the value in the field's type, or say what is wrong with it."""
    default = _FIELDS[name].default
    if isinstance(default, bool):
        return _as_bool(name, value)
    if isinstance(default, int | float):
        return _as_number(name, value)
    if isinstance(default, tuple):
        return _as_words(name, value)
    if not isinstance(value, str):
        raise SettingsError(f"{name} must be text, not {value!r}")
    words = _FIELDS[name].metadata.get("words")
    if words and value not in words:
        raise SettingsError(f"{name} must be one of {', '.join(words)}, not {value!r}")
    return value


def _as_bool(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _TRUE | _FALSE:
        return word in _TRUE
    raise SettingsError(f"{name} must be true or false, not {value!r}")


def _as_number(name: str, value: object) -> float:
    each = _FIELDS[name]
    whole = each.type == "int"
    try:
        number = int(str(value)) if whole else float(str(value))
    except ValueError:
        raise SettingsError(f"{name} must be a {'whole ' if whole else ''}number, not {value!r}") from None
    low, high = each.metadata["low"], each.metadata["high"]
    if not low <= number <= high:
        bounds = f"at least {low}" if high == float("inf") else f"between {low} and {high}"
        raise SettingsError(f"{name} must be {bounds}, not {value!r}")
    return number


def _as_words(name: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        value = [word.strip() for word in value.split(",") if word.strip()]
    if not isinstance(value, list | tuple) or not all(isinstance(word, str) for word in value):
        raise SettingsError(f"{name} must be a list of words, not {value!r}")
    return tuple(value)
