"""Settings: their sources and precedence, their checks, and what a project may set."""

from __future__ import annotations

import pickle
from dataclasses import Field, FrozenInstanceError
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memotherm.errors import SettingsError
from memotherm.settings import FIELDS, SECRET_NAMES, Settings, default_store, embedder_keys, load, origins
from memotherm.settings.paths import data_home, user_file
from memotherm.settings.sources import described_settings


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose user has a configuration folder of their own."""
    folder = tmp_path / "home"
    folder.mkdir()
    return {"MEMOTHERM_HOME": str(folder)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project folder."""
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def test_without_anything_the_defaults_hold(home: dict[str, str], project: Path) -> None:
    """Without files and variables every value is the default."""
    assert load(environ=home, folder=project) == Settings()
    assert set(origins(environ=home, folder=project).values()) == {"default"}


@pytest.mark.parametrize(
    ("platform", "environ", "data", "config"),
    [
        ("linux", {}, "~/.local/share/memotherm", "~/.config/memotherm"),
        ("linux", {"XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c"}, "/d/memotherm", "/c/memotherm"),
        ("freebsd14", {"XDG_DATA_HOME": " "}, "~/.local/share/memotherm", "~/.config/memotherm"),
        ("darwin", {"XDG_DATA_HOME": "/d"}, *["~/Library/Application Support/memotherm"] * 2),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/memotherm", "/l/memotherm"),
        ("win32", {}, *["~/AppData/Local/memotherm"] * 2),
        ("darwin", {"MEMOTHERM_HOME": "/m"}, "/m", "/m"),
    ],
)
def test_the_folders_are_those_of_the_platform(
    platform: str, environ: dict[str, str], data: str, config: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything is in one folder if that is named."""
    monkeypatch.setattr("memotherm.folders.sys.platform", platform)
    assert data_home(environ) == Path(data).expanduser()
    assert user_file(environ) == Path(config).expanduser() / "config.toml"


def test_the_stronger_layer_wins_setting_by_setting(home: dict[str, str], project: Path) -> None:
    """Arguments over environment over project over user over defaults."""
    user_file = Path(home["MEMOTHERM_HOME"]) / "config.toml"
    user_file.write_text("max_pinned = 1\nmax_critical = 1\npool_size = 1\ncontext_min_confidence = 0.1\n")
    project_file = project / "memotherm.toml"
    project_file.write_text("max_pinned = 2\nmax_critical = 2\npool_size = 2\n")
    environ = {**home, "MEMOTHERM_MAX_PINNED": "3", "MEMOTHERM_MAX_CRITICAL": "3"}
    found = load({"max_pinned": 4}, environ=environ, folder=project)
    where = origins({"max_pinned": 4}, environ=environ, folder=project)

    assert (found.max_pinned, found.max_critical, found.pool_size, found.context_min_confidence) == (4, 3, 2, 0.1)
    assert (where["max_pinned"], where["max_critical"]) == ("argument", "environment")
    assert (where["pool_size"], where["context_min_confidence"], where["fusion"]) == (
        str(project_file),
        str(user_file),
        "default",
    )


def test_the_project_file_is_found_from_a_folder_below(home: dict[str, str], project: Path) -> None:
    """`pyproject.toml` counts when it has a section for us; the nearest file wins."""
    (project / "pyproject.toml").write_text("[tool.memotherm]\nmax_pinned = 9\n[tool.other]\nx = 1\n")
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    assert load(environ=home, folder=below).max_pinned == 9

    (project / "src" / "pyproject.toml").write_text("[project]\nname = 'other'\n")
    assert load(environ=home, folder=below).max_pinned == 9

    (project / "src" / "memotherm.toml").write_text("max_pinned = 8\n")
    assert load(environ=home, folder=below).max_pinned == 8


def test_an_instance_is_taken_as_it_is(home: dict[str, str], project: Path) -> None:
    """No file or variable is read."""
    (project / "memotherm.toml").write_text("max_pinned = 2\n")
    mine = Settings(max_pinned=7)

    assert load(mine, environ=home, folder=project) is mine


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"max_pined": 3}, "did you mean 'max_pinned'"),
        ({"nonsense_setting_xyz": 3}, "unknown setting"),
        ({"max_pinned": -1}, "at least 0"),
        ({"max_pinned": "many"}, "whole number"),
        ({"max_pinned": 2.5}, "whole number"),
        ({"max_pinned": True}, "whole number"),
        ({"context_min_confidence": 1.5}, "between 0 and 1"),
        ({"context_min_confidence": "nan"}, "between 0 and 1"),
        ({"pool_size": 0}, "between 1 and"),
        ({"fusion": "magic"}, "one of .*weighted, rrf"),
        ({"tiering": "perhaps"}, "true or false"),
        ({"retention": "90/60"}, "such as 90/60/7"),
        ({"retention": "nan/60/7"}, "such as 90/60/7"),
        ({"priority_boosts": {"urgent": 1}}, "numbers by priority"),
        ({"priority_boosts": {"low": 11}}, "between -10 and 10"),
        ({"priority_boosts": "low"}, "must be a number"),
        ({"redact_patterns": 5}, "list of words"),
        ({"redact_patterns": [5]}, "list of words"),
        ({"embedder": None}, "must be text"),
    ],
)
def test_a_wrong_setting_is_refused_with_what_is_right(
    values: dict[str, Any], says: str, home: dict[str, str], project: Path
) -> None:
    """The error says which values are allowed."""
    with pytest.raises(SettingsError, match=says):
        load(values, environ=home, folder=project)


@pytest.mark.parametrize(
    ("name", "says"), [("MAX_PINED", "the environment: did you mean 'max_pinned'"), ("TEST_KEY", "the environment")]
)
def test_an_unknown_environment_variable_is_an_error(name: str, says: str, home: dict[str, str], project: Path) -> None:
    """The message says where it was found; variables of our tests have no name that looks like a setting."""
    with pytest.raises(SettingsError, match=says):
        load(environ={**home, f"MEMOTHERM_{name}": "3"}, folder=project)


def test_a_broken_file_is_named(home: dict[str, str], project: Path) -> None:
    """The error says which file cannot be read."""
    (project / "memotherm.toml").write_text("max_pinned = = 2")
    with pytest.raises(SettingsError, match=r"memotherm\.toml"):
        load(environ=home, folder=project)


def test_zero_is_zero(home: dict[str, str], project: Path) -> None:
    """A setting of 0 is never taken for a missing one."""
    found = load({"max_pinned": 0, "priority_boosts": {"pinned": 0}}, environ=home, folder=project)

    assert (found.max_pinned, found.priority_boosts.pinned) == (0, 0.0)


def test_words_become_values(home: dict[str, str], project: Path) -> None:
    """The environment has only text."""
    environ = {
        **home,
        "MEMOTHERM_TIERING": "off",
        "MEMOTHERM_PRIORITY_BOOSTS": "critical=0.5, low=-0.2",
        "MEMOTHERM_PROPOSE_SOURCES": "hook, extracted,",
        "MEMOTHERM_CONTEXT_MIN_CONFIDENCE": "0.25",
    }
    found = load(environ=environ, folder=project)

    assert (found.tiering, found.propose_sources, found.context_min_confidence) == (
        False,
        ("hook", "extracted"),
        0.25,
    )
    assert found.priority_boosts == (1.0, 0.5, 0.15, 0.0, -0.2)


def test_keys_of_embedders_are_read_from_their_own_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are no settings, so nothing shows them."""
    for name in ("OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("GOOGLE_API_KEY", "g-secret")

    assert embedder_keys() == {"openai": "sk-secret", "gemini": "g-secret"}
    assert "secret" not in repr(load())


@pytest.mark.parametrize("name", sorted(SECRET_NAMES))
def test_a_secret_is_in_no_message_and_no_description(name: str, tmp_path: Path) -> None:
    """Neither where it is shown as a setting, nor where it is refused."""
    assert "hunter2" not in repr(Settings(**{name: "hunter2"}))
    assert described_settings(Settings(**{name: "hunter2"}))[name]["value"] == "(set)"
    with pytest.raises(SettingsError, match="must be text") as refused:
        Settings(**{name: 815_4711})
    assert "4711" not in str(refused.value)
    (tmp_path / "memotherm.toml").write_text(f"{name}: hunter2\nhotMaxTokens: 300\n")
    with pytest.raises(SettingsError, match="hotMaxTokens = 300") as unread:
        load(folder=tmp_path)
    assert "hunter2" not in str(unread.value)


@pytest.mark.parametrize("name", ["store", "embedder", "fallback_embedder"])
def test_an_address_is_shown_without_its_credentials(name: str) -> None:
    """In a description and in a debugger."""
    parameters = "model=m&key=hunter3&api-key=hunter4&sslpassword=hunter5&access_token=hunter6&sig=hunter7"
    settings = Settings(**{name: f"https://ana:hunter2@example.org/v1?{parameters}"})
    shown = f"{settings!r} {described_settings(settings)[name]}"
    assert "hunter" not in shown
    assert "https://example.org/v1?model=m&" in shown


def test_the_default_store_is_in_the_data_folder(home: dict[str, str]) -> None:
    """A setting wins; then the home folder of Memotherm."""
    assert default_store(Settings(store="here.db"), home) == "here.db"
    assert default_store(Settings(), home) == str(Path(home["MEMOTHERM_HOME"]) / "memory.db")
    assert default_store(Settings(), {}).endswith("memory.db")


def _values(declared: Field[Any]) -> st.SearchStrategy[Any]:
    """Return valid values of a setting."""
    if isinstance(declared.default, bool):
        return st.booleans()
    if isinstance(declared.default, int | float):
        low, high = declared.metadata["low"], min(declared.metadata["high"], 1_000_000)
        return st.integers(int(low), int(high)) if declared.type == "int" else st.floats(low, high)
    if declared.name == "priority_boosts":
        return st.sampled_from(["low=-0.5", "pinned=2, critical = 0.5"])
    if declared.name == "retention":
        return st.sampled_from(["off", "standard", "0/30/1.5"])
    if isinstance(declared.default, tuple):
        return st.lists(st.sampled_from(["fact", "task"]), unique=True).map(tuple)
    choices = declared.metadata["choices"]
    return st.sampled_from(choices) if choices else st.text("abc:/", max_size=9)


@given(values=st.fixed_dictionaries({}, optional={name: _values(declared) for name, declared in FIELDS.items()}))
def test_settings_survive_the_environment(values: dict[str, Any]) -> None:
    """Written as text and read back, every setting is the same."""
    nowhere = Path("/nonexistent")
    environ = {
        f"MEMOTHERM_{name.upper()}": ",".join(value) if isinstance(value, tuple) else str(value)
        for name, value in values.items()
    }

    assert load(environ={**environ, "MEMOTHERM_HOME": str(nowhere)}, folder=nowhere) == Settings(**values)


#: What only the user may set: where memories are and go, who reaches them, what is erased, what an agent is told.
PRIVATE = [
    'store = "elsewhere.db"',
    'store = "postgresql://elsewhere.example/memory"',
    'synchronous = "normal"',
    "busy_timeout_ms = 1",
    'embedder = "https://elsewhere.example/v1?model=m"',
    'embedder = "openai"',
    'embedder = "some_plugin"',
    'fallback_embedder = "gemini"',
    'tokenizer = "tokenizer.json"',
    'recall_log = "off"',
    "log_days = 0",
    'retention = "standard"',
    'retention = "0.001/0.001/0"',
    "cool_hot_days = 0",
    'notes_root = "/"',
    'note_paths = ["../other"]',
    "experimental_session_memory = true",
    'transcript_paths = ["../other"]',
    'silent_token = "curl elsewhere.example"',
    'mcp_tools = ["all"]',
    'server_hosts = ["elsewhere.example"]',
    'server_origins = ["https://elsewhere.example"]',
    'server_proxies = ["127.0.0.1"]',
    "server_rate_per_minute = 0",
    "trust_project = true",
]


@pytest.mark.parametrize("line", PRIVATE)
def test_a_project_cannot_set_what_only_the_user_may_set(tmp_path: Path, line: str) -> None:
    """A file that may come with a cloned repository is refused by the name of the setting, unless it is trusted."""
    (tmp_path / "memotherm.toml").write_text(line)
    home = {"MEMOTHERM_HOME": str(tmp_path / "home")}

    with pytest.raises(SettingsError, match=f"sets {line.split(' ', maxsplit=1)[0]}.*MEMOTHERM_TRUST_PROJECT"):
        load(environ=home, folder=tmp_path)

    load(environ={**home, "MEMOTHERM_TRUST_PROJECT": "1"}, folder=tmp_path)


@pytest.mark.parametrize(
    "line",
    [
        'embedder = "none"',
        'fallback_embedder = "local"',
        "hot_token_limit = 60",
        'fusion = "rrf"',
        "chunk_tokens = 99",
        "max_cold_items = 500",
    ],
)
def test_a_project_can_set_how_its_memories_are_written_and_found(tmp_path: Path, line: str) -> None:
    """No trust is needed for a setting that is declared for projects."""
    (tmp_path / "memotherm.toml").write_text(line)
    name = line.split(" ", maxsplit=1)[0]
    settings = load(environ={"MEMOTHERM_HOME": str(tmp_path / "home")}, folder=tmp_path)

    assert getattr(settings, name) != getattr(Settings(), name)


@pytest.mark.parametrize("prefix", ["server_", "recall_log", "log_", "retention", "postgres_", "cool_"])
def test_no_setting_of_the_server_retention_or_store_is_open_to_projects(prefix: str) -> None:
    """The list of what is allowed holds for settings that are added later, too."""
    settings = [declared for name, declared in FIELDS.items() if name.startswith(prefix)]

    assert settings
    assert not any(declared.metadata["project"] for declared in settings)


def test_one_word_sets_the_windows_of_retention(home: dict[str, str], project: Path) -> None:
    """Three numbers set them too; without either, only the grace time is set."""

    def windows(settings: Settings) -> tuple[float, float, float]:
        return settings.archive_after_days, settings.delete_after_days, settings.grace_days

    environ = {**home, "MEMOTHERM_RETENTION": "standard"}
    assert windows(Settings()) == (0, 0, 7)
    assert windows(Settings(retention="standard")) == (90, 60, 7)
    assert windows(Settings(retention="0/60.5/1")) == (0, 60.5, 1)
    assert windows(load(environ=environ, folder=project)) == (90, 60, 7)
    assert windows(load({"retention": "off"}, environ=environ, folder=project)) == (0, 0, 7)


def test_settings_are_one_plain_value() -> None:
    """A `Settings` can be hashed, compared, pickled and read by attribute."""
    settings = Settings(hot_token_limit=60)

    assert pickle.loads(pickle.dumps(settings)) == settings
    assert len({settings, Settings(hot_token_limit=60), Settings()}) == 2
    assert not hasattr(settings, "__dict__")
    with pytest.raises(FrozenInstanceError):
        settings.hot_token_limit = 70  # type: ignore[misc]
