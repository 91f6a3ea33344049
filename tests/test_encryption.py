"""Encryption at rest: keys, what is written to files, and the commands that encrypt, decrypt and change the key."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import memotherm
from memotherm import Memotherm, Settings
from memotherm.cli.app import run
from memotherm.errors import InvalidInput, NotAStore, SettingsError, StoreBusy, StoreDamaged, WrongKey
from memotherm.hooks.capture import process_spool
from memotherm.hooks.spool import Spool
from memotherm.testing import HashEmbedder
from tests.helpers import contents, python
from tests.stores import limits

pytest.importorskip("sqlcipher3", reason="sqlcipher3 is not installed")

RAW = "5e" * 32
OTHER = "0f" * 32
SECRET = "The heron nests behind the boathouse"
EMBEDDER = HashEmbedder()


def opened(path: Path, key: object = RAW, **settings: object) -> Memotherm:
    return memotherm.open(path, key=key, embedder=EMBEDDER, settings=Settings(**settings))  # type: ignore[arg-type]


def filled(path: Path, key: object = RAW) -> Path:
    """Return the path of a new store with one memory."""
    with opened(path, key) as mem:
        mem.remember(SECRET, tags=["bird"])
    return path


@pytest.fixture
def key_file(tmp_path: Path) -> Callable[[str, str], Path]:
    """Write files with keys, which only their owner can read."""

    def written(name: str, key: str) -> Path:
        path = tmp_path / name
        path.write_text(f"{key}\n")
        path.chmod(0o600)
        return path

    return written


def test_no_file_of_an_encrypted_store_contains_a_text_or_a_vector_cache(tmp_path: Path) -> None:
    """Neither the file nor its log can be read without the key, and codes of vectors are not written at all."""
    with limits(exact=0), opened(tmp_path / "memory.db") as mem:
        mem.remember_many([{"content": f"{SECRET} {number}"} for number in range(20)])
        assert len(mem.recall("heron", 5)) == 5
        mem.checkpoint(tmp_path / "copy.db")
        files = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    assert set(files) == {"memory.db", "memory.db-wal", "memory.db-shm", "copy.db"}
    assert not any(b"heron" in data or b"SQLite format" in data for data in files.values())


@pytest.mark.parametrize("key", [None, OTHER, "a passphrase"])
def test_another_key_is_told_as_such_and_changes_nothing(
    tmp_path: Path, key: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    """The error names the key, the file stays as it is, and nothing is printed."""
    path = filled(tmp_path / "memory.db")
    before = path.read_bytes()

    with pytest.raises(NotAStore if key is None else WrongKey, match="encrypted"):
        opened(path, key)

    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]
    assert capfd.readouterr() == ("", "")


def test_a_plain_store_is_not_opened_with_a_key(tmp_path: Path) -> None:
    """Who sets a key must not write unencrypted by mistake; the error names the command."""
    path = filled(tmp_path / "memory.db", None)

    with pytest.raises(WrongKey, match="memotherm store encrypt"):
        opened(path)
    with pytest.raises(InvalidInput, match="server"):
        opened("postgresql://nowhere.invalid/memory")  # type: ignore[arg-type]


def test_a_key_comes_from_an_argument_a_function_a_file_or_the_environment(
    tmp_path: Path, key_file: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them open the same store."""
    path = filled(tmp_path / "memory.db")
    file = key_file("key", RAW)
    for key in (bytes.fromhex(RAW), lambda: RAW, file):
        opened(path, key).close()
    for name, value in (("KEY", RAW), ("KEY_FILE", str(file))):
        with monkeypatch.context() as environment:
            environment.setenv(f"MEMOTHERM_{name}", value)
            memotherm.open(path, embedder=EMBEDDER).close()


@pytest.mark.parametrize("key", ["", b"short", 7, lambda: None])
def test_a_key_of_another_type_is_refused_and_not_printed(tmp_path: Path, key: object) -> None:
    """An empty key would mean no encryption."""
    with pytest.raises(InvalidInput, match="an encryption key is") as caught:
        opened(tmp_path / "memory.db", key)

    assert "short" not in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_key_file_must_be_private_and_settings_files_have_no_key(
    tmp_path: Path, key_file: Callable[[str, str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that others can read, an empty one, and a key in TOML are refused; no message has the key."""
    readable = key_file("readable", RAW)
    readable.chmod(0o640)
    for path, says in ((readable, "chmod 600"), (key_file("empty", ""), "empty"), (tmp_path / "none", "cannot read")):
        with pytest.raises(SettingsError, match=says):
            opened(tmp_path / "memory.db", path)
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path))
    (tmp_path / "config.toml").write_text(f'key = "{RAW}"')
    with pytest.raises(SettingsError, match="MEMOTHERM_KEY") as caught:
        memotherm.open(tmp_path / "memory.db")

    assert RAW not in str(caught.value)
    assert RAW not in repr(Settings(key=RAW))


def test_several_openings_create_one_store_with_a_passphrase(tmp_path: Path) -> None:
    """The salt is part of the file, and the first one decides it."""

    def remember(number: int) -> None:
        with opened(tmp_path / "memory.db", "a passphrase") as mem:
            mem.remember(f"otter {number}")

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(remember, range(3)))

    with opened(tmp_path / "memory.db", "a passphrase") as mem:
        assert sorted(contents(mem.find())) == ["otter 0", "otter 1", "otter 2"]


def test_a_checkpoint_has_the_key_of_its_store(tmp_path: Path) -> None:
    """Also that of a store in memory; `restore` makes an encrypted store of it."""
    with opened(tmp_path / "memory.db") as mem:
        mem.remember(SECRET)
        mem.checkpoint(tmp_path / "file.checkpoint")
    with opened(":memory:") as mem:  # type: ignore[arg-type]
        mem.remember(SECRET)
        mem.checkpoint(tmp_path / "memory.checkpoint")
    for name in ("file", "memory"):
        with pytest.raises(WrongKey):
            memotherm.restore(tmp_path / f"{name}.checkpoint", tmp_path / f"restored-{name}.db", key=OTHER)
        memotherm.restore(tmp_path / f"{name}.checkpoint", tmp_path / f"restored-{name}.db", key=RAW)
        with opened(tmp_path / f"restored-{name}.db") as restored:
            assert contents(restored.recall("heron")) == [SECRET]
            assert restored.check() == []


def test_an_encrypted_checkpoint_is_not_mixed_with_the_log_of_a_store(tmp_path: Path) -> None:
    """A copy over a store whose log remains is refused, as for a plain file."""
    path, copy = tmp_path / "memory.db", tmp_path / "copy.db"
    with opened(path) as mem:
        mem.checkpoint(copy)
        mem.remember(SECRET)
        log = (tmp_path / "memory.db-wal").read_bytes()
    (tmp_path / "copy.db-wal").write_bytes(log)

    with pytest.raises(StoreDamaged, match="belongs to another file"):
        opened(copy)


def test_check_finds_a_changed_byte(tmp_path: Path) -> None:
    """Every page is authenticated."""
    path = filled(tmp_path / "memory.db")
    data = bytearray(path.read_bytes())
    data[-5000] ^= 1
    path.write_bytes(data)

    with opened(path) as mem:
        (problem,) = mem.check()
    assert (problem.code, "HMAC" in problem.detail) == ("file", True)


def test_a_store_is_encrypted_rekeyed_and_decrypted_with_all_it_holds(
    tmp_path: Path, key_file: Callable[[str, str], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Memories, events, words and vectors are the same, the mode of the file stays, and caches are deleted."""
    path = tmp_path / "memory.db"
    with limits(exact=0), opened(path, None) as mem:
        memory = mem.remember(SECRET, tags=["bird"])
        mem.move(memory.id, "cold")
        mem.recall("heron", tiers=["cold"], track=False)
        state = mem.find().memories, mem.history(memory.id)
    assert (tmp_path / "memory.db-vectors").exists()
    path.chmod(0o640)
    (tmp_path / ".memory.db.0a1b2c3d.partial").write_text("left by a process that was killed")
    first, second = key_file("first", RAW), key_file("second", "a passphrase")
    changes: list[tuple[str, Path | None, list[str]]] = [
        ("encrypt", first, ["--key-file", str(first)]),
        ("rekey", second, ["--key-file", str(first), "--new-key-file", str(second)]),
        ("decrypt", None, ["--key-file", str(second)]),
    ]
    for verb, key, options in changes:
        assert run(["store", verb, str(path), *options, "--json"]) == 0, capsys.readouterr().err
        assert json.loads(capsys.readouterr().out) == {"path": str(path), "bytes": path.stat().st_size}
        assert sorted(file.name for file in tmp_path.iterdir()) == ["first", "memory.db", "second"]
        with opened(path, key) as mem:
            assert (mem.find().memories, mem.history(memory.id)) == state
            assert contents(mem.recall("heron", tiers=["cold"], track=False)) == [SECRET]
            assert mem.check() == []
        assert path.stat().st_mode & 0o777 == 0o640
    assert run(["store", "decrypt", str(path), "--key-file", str(second)]) == 5
    assert "is not encrypted" in capsys.readouterr().err
    for code in (0, 2):
        assert run(["store", "encrypt", str(path), "--key-file", str(tmp_path / "third"), "--create-key"]) == code
    opened(path, tmp_path / "third").close()


def test_a_store_in_use_is_not_encrypted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process, or this one, would write to a file that is no longer there; its writes stay."""
    monkeypatch.setenv("MEMOTHERM_BUSY_TIMEOUT_MS", "50")
    path = filled(tmp_path / "memory.db", None)
    with opened(path, None), pytest.raises(StoreBusy, match="open in this process"):
        memotherm.encrypt(path, RAW)
    code = f"import memotherm; m = memotherm.open({str(path)!r}, embedder='none'); print(1, flush=True); input()"
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "1\n"
        with pytest.raises(StoreBusy, match="all processes"):
            memotherm.encrypt(path, RAW)
        other.communicate("\n")

    with opened(path, None) as mem:
        mem.remember("still writable")
        assert mem.check() == []
    assert [file.name for file in tmp_path.iterdir()] == ["memory.db"]


def test_the_spool_of_the_hooks_is_encrypted_with_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waits for the end of a session cannot be read in its file; the worker stores it, or waits for the key."""
    monkeypatch.setenv("MEMOTHERM_HOME", str(tmp_path))
    monkeypatch.setenv("MEMOTHERM_EMBEDDER", "none")
    monkeypatch.setenv("MEMOTHERM_KEY", RAW)
    event = {"hook_event_name": "Stop", "session_id": "s1", "last_assistant_message": SECRET, "cwd": str(tmp_path)}
    command = [sys.executable, "-m", "memotherm", "hook", "--no-worker"]
    done = subprocess.run(command, input=json.dumps(event), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    spool = Spool(tmp_path / "spool")
    (job,) = spool.waiting()
    assert "heron" not in job.read_text()
    assert "sealed" in job.read_text()

    monkeypatch.setenv("MEMOTHERM_KEY", OTHER)
    assert process_spool(spool, include_running=True).waiting == 1
    (tmp_path / "memory.db").unlink()
    monkeypatch.setenv("MEMOTHERM_KEY", RAW)
    assert process_spool(spool, include_running=True).captured == 1
    with memotherm.open() as mem:
        assert contents(mem.find(kind="message")) == [SECRET]


def test_without_the_package_the_error_has_the_line_to_install_it(tmp_path: Path) -> None:
    """Nothing is created."""
    code = "import sys; sys.modules['sqlcipher3'] = None; import memotherm; memotherm.open(sys.argv[1], key='k')"
    done = python(code, tmp_path / "memory.db")

    assert "pip install 'memotherm[encryption]'" in done.stderr
    assert not list(tmp_path.iterdir())
