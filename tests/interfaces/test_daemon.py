"""The daemon: what it answers is what a process of its own would answer, and nothing depends on it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from memotherm.daemon.client import peer
from tests.helpers import python
from tests.interfaces.served import environment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the daemon needs Linux")

FACT = "The staging database is called heron"
#: What a client must not import: it only passes on its arguments.
_HEAVY = ("click", "enum", "rich", "numpy", "onnxruntime", "memotherm.settings", "memotherm.memory",
          "selectors", "signal", "socket", "struct", "typing", "zlib")  # fmt: skip


class Installation:
    """A data folder with a settings file, and commands that use it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir(mode=0o700)
        (home / "config.toml").write_text('embedder = "none"\n', "utf-8")
        self.variables = environment(home)
        del self.variables["MEMOTHERM_EMBEDDER"]
        del self.variables["MEMOTHERM_DAEMON"]

    def run(
        self, *arguments: str, given: str = "", python: tuple[str, ...] = (), folder: Path | None = None, **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, *python, "-m", "memotherm", *arguments],
            input=given, capture_output=True, text=True, timeout=120, cwd=folder or self.home,
            env={**self.variables, **more},
        )  # fmt: skip

    def hook(self, *arguments: str, **payload: str) -> subprocess.CompletedProcess[str]:
        event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", **payload}
        return self.run("hook", "--deadline", "60", *arguments, given=json.dumps(event))

    def process(self) -> int | None:
        """Return the process of the daemon, or None."""
        found = list(self.home.glob("daemon/*.sock"))
        with socket.socket(socket.AF_UNIX) as connection:
            try:
                connection.connect(str(found[0]))
            except (IndexError, OSError):
                return None
            return peer(connection)[0]


def started(home: Path) -> tuple[Installation, int]:
    """Return an installation whose daemon was started by its first hook, and the process of the daemon."""
    installation = Installation(home)
    installation.run("remember", FACT, "--tier", "hot")
    installation.hook(prompt="Where is staging?")
    while (process := installation.process()) is None:
        pass
    return installation, process


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """An installation whose daemon was started by its first hook."""
    installation, process = started(tmp_path_factory.mktemp("daemon") / "home")
    shown = installation.run("agent", "daemon", "status", "--json")
    assert json.loads(shown.stdout) == {"running": True, "process": process}
    yield installation
    assert installation.run("agent", "daemon", "stop").stdout == f"process {process} ends\n"


def forks(process: int | None) -> list[int]:
    """Return the forks of a daemon; one of them waits for the next client."""
    return [int(number) for number in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


def modules(done: subprocess.CompletedProcess[str]) -> set[str]:
    """Return the modules that a process with `-X importtime` has imported."""
    return {line.rsplit("|", 1)[1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}


@pytest.mark.slow
@pytest.mark.parametrize("command", [("status",), ("hook", "--no-worker")])
def test_a_client_of_the_daemon_imports_next_to_nothing(running: Installation, command: tuple[str, ...]):
    """The command itself runs elsewhere, and its output is complete."""
    event = json.dumps({"hook_event_name": "SessionStart", "session_id": "imports"})
    done = running.run(*command, given=event, python=("-X", "importtime"))

    assert "heron" in done.stdout if command[0] == "hook" else "1 memory" in done.stdout
    assert not [name for name in modules(done) if name.startswith(_HEAVY)]


@pytest.mark.parametrize("daemon", ["on", pytest.param("off", marks=pytest.mark.slow)])
def test_a_command_keeps_the_limits_of_its_caller(running: Installation, daemon: str):
    """A process that may write no files stores nothing, whoever runs its command."""
    command = [sys.executable, "-m", "memotherm", "remember", f"Written without files, daemon {daemon}"]
    limited = "import os, resource as r, sys; r.setrlimit(r.RLIMIT_FSIZE, (0, 0)); os.execv(sys.argv[1], sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", limited, *command],
        capture_output=True, text=True, timeout=120, cwd=running.home,
        env={**running.variables, "MEMOTHERM_DAEMON": daemon},
    )  # fmt: skip

    assert done.returncode != 0, done.stdout
    assert "Written without files" not in running.run("list").stdout


def test_the_commands_import_only_what_they_use():
    """A first recall waits for neither network clients, models, notes nor replays."""
    code = "import sys, memotherm.cli.memories, memotherm.opening; print(*sys.modules)"
    loaded = set(python(code).stdout.split())

    assert "memotherm.memory" in loaded
    assert not loaded & {
        "asyncio", "email", "http.client", "httpx", "memotherm.notes.notes", "memotherm.notes.imports",
        "memotherm.tiers.replay", "memotherm.remote.client", "onnxruntime", "pydantic", "splintr", "ssl",
        "turbovec", "urllib.request", "urllib3",
    }  # fmt: skip


@pytest.mark.slow
def test_a_hook_without_the_daemon_imports_only_what_it_uses():
    """A first answer waits for no rules, policies, reports, notes, time zones, compression, large bands or captures."""
    code = """
import sys, memotherm, memotherm.hooks.recall
with memotherm.open(":memory:", embedder="none", settings=memotherm.Settings()) as mem:
    mem.session("s1").before_turn("staging")
print(*sys.modules)
"""
    loaded = set(python(code).stdout.split())

    assert "memotherm.storage.sqlite.store" in loaded
    assert not loaded & {
        "bz2", "calendar", "importlib.resources", "locale", "memotherm.model.reports", "memotherm.notes.edits",
        "memotherm.statements.endings", "memotherm.statements.kinds", "memotherm.statements.replacing",
        "memotherm.tiers.policies", "memotherm.tiers.policy", "memotherm.tiers.rules.table",
        "memotherm.tiers.adoption", "memotherm.tiers.scheduler", "secrets", "shutil", "tempfile", "tomllib",
        "turbovec", "zoneinfo",
    }  # fmt: skip


@pytest.mark.slow
def test_the_daemon_imports_what_hooks_and_commands_use_before_it_forks():
    """Rules, reports, flushes, months in a query and settings files are imported once, not by every fork."""
    code = """
import sys
from memotherm import Settings
from memotherm.hooks.warm_up import load_all
load_all(Settings(embedder="none"))
print(*sys.modules)
"""
    loaded = set(python(code).stdout.split())

    assert {
        "calendar", "memotherm.model.reports", "memotherm.notes.edits", "memotherm.notes.notes",
        "memotherm.statements.kinds", "memotherm.statements.replacing", "memotherm.tiers.adoption",
        "memotherm.tiers.rules.table", "tomllib",
    } <= loaded  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "given"),
    [(("get", "mem_none"), ""), (("remember", "-", "--key", "k", "--json"), "K ü")],
)
def test_a_command_is_the_same_with_and_without_the_daemon(
    running: Installation, arguments: tuple[str, ...], given: str
):
    """Output, errors and exit code, from standard input to encoding."""
    running.run("remember", "K ü", "--key", "k")
    served = running.run(*arguments, given=given, PYTHONIOENCODING="ascii")
    alone = running.run(*arguments, given=given, PYTHONIOENCODING="ascii", MEMOTHERM_DAEMON="off")

    assert (served.returncode, served.stdout, served.stderr) == (alone.returncode, alone.stdout, alone.stderr)
    assert served.stdout + served.stderr


def test_every_request_has_the_settings_of_its_client(running: Installation, tmp_path: Path):
    """Variables and a project's file of one client apply to its own command only."""
    (tmp_path / "memotherm.toml").write_text(f'store = "{tmp_path}/project.db"\n', "utf-8")
    trusted = {"MEMOTHERM_TRUST_PROJECT": "1"}
    stores = [
        json.loads(running.run("status", "--json", folder=folder, **variables).stdout)["store"]
        for folder, variables in [
            (tmp_path, trusted), (None, {"MEMOTHERM_STORE": f"{tmp_path}/named.db"}), (None, {}),
        ]
    ]  # fmt: skip

    assert stores == [f"{tmp_path}/project.db", f"{tmp_path}/named.db", str(running.home / "memory.db")]
    assert running.run("status", folder=tmp_path).stderr.startswith(f"error: {tmp_path}/memotherm.toml sets store")


def test_the_daemon_has_no_variables_of_the_client_that_started_it(running: Installation):
    """Neither keys nor settings: only where folders are."""
    variables = Path(f"/proc/{running.process()}/environ").read_bytes().split(b"\0")
    names = {variable.split(b"=")[0].decode() for variable in variables if variable}

    assert "MEMOTHERM_HOME" in names
    assert names <= {"HOME", "PATH", "PYTHONPATH", "LANG", "LC_ALL", "MEMOTHERM_HOME", "TMPDIR"} | {
        name for name in names if name.startswith("XDG_")
    }


@pytest.mark.slow
def test_a_daemon_that_does_not_answer_is_bypassed_and_repeats_nothing(running: Installation):
    """The command runs in its own process once; the daemon, when it goes on, does not run it again."""
    process = running.process()
    assert process is not None
    os.kill(process, signal.SIGSTOP)
    try:
        done = running.run("remember", "written while it was stopped")
    finally:
        os.kill(process, signal.SIGCONT)
    listed = running.run("list", "--contains", "while it was stopped", "--json")

    assert done.returncode == 0
    assert len(json.loads(listed.stdout)["memories"]) == 1
    assert running.process() == process


def test_a_fork_that_was_killed_is_replaced(running: Installation):
    """The client that was to be its first runs the command itself, a later one has another fork."""
    process = running.process()
    killed = False
    while not killed:
        if len(waiting := forks(process)) == 1:
            with suppress(ProcessLookupError):  # it was the fork of the connection that asked for the process
                os.kill(waiting[0], signal.SIGKILL)
                killed = True
    done = [running.run("status", python=("-X", "importtime")) for _ in range(3)]

    assert all("memories" in each.stdout for each in done)
    assert "click" not in modules(done[-1])
    assert running.process() == process


def test_a_client_whose_fork_is_killed_says_so(running: Installation):
    """It does not wait for the fork that waits for the next client."""
    process = running.process()
    with subprocess.Popen(
        [sys.executable, "-m", "memotherm", "remember", "-"],
        stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=running.variables,
    ) as client:  # fmt: skip
        while not (found := [fork for fork in forks(process) if _input(fork) == _input(client.pid)]):
            assert client.poll() is None
        os.kill(found[0], signal.SIGKILL)
        _, errors = client.communicate(timeout=60)

    assert client.returncode == 1
    assert errors == "error: the process of the daemon ended before the command did: run it again\n"


def _input(process: int) -> Path | None:
    """Return what the standard input of a process is, or None if it has ended."""
    try:
        return Path(f"/proc/{process}/fd/0").readlink()
    except OSError:
        return None


def test_what_a_hook_has_captured_is_stored_by_a_fork(running: Installation):
    """The worker runs in the daemon, too, when a session ends."""
    said = "My favourite colour is octarine"
    running.hook(prompt=said, session_id="captured")
    running.hook(hook_event_name="SessionEnd", session_id="captured", reason="other")
    while "octarine" not in (listed := running.run("list", "--include-narrower", "--json")).stdout:
        assert running.process() is not None

    assert said in [memory["content"] for memory in json.loads(listed.stdout)["memories"]]


def test_an_interrupt_reaches_the_command(running: Installation):
    """The client ends as the command does."""
    waiting = subprocess.Popen(
        [sys.executable, "-m", "memotherm", "remember", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=running.variables,
    )  # fmt: skip
    while not _handles_interrupts(waiting.pid):
        assert waiting.poll() is None
    waiting.send_signal(signal.SIGINT)

    # 130 from the command line; the signal itself if it came before that was reached.
    assert waiting.wait(60) in (130, -signal.SIGINT)
    waiting.communicate()


def _handles_interrupts(process: int) -> bool:
    """Return whether a client forwards the signals that would end it, which it does while its command runs."""
    caught = next(line for line in Path(f"/proc/{process}/status").read_text().splitlines() if "SigCgt" in line)
    return bool(int(caught.split()[1], 16) & 1 << signal.SIGHUP - 1)


@pytest.mark.slow
def test_a_folder_that_others_can_open_is_not_used(tmp_path_factory: pytest.TempPathFactory):
    """Neither by clients nor by the daemon, which ends when it notices."""
    installation, process = started(tmp_path_factory.mktemp("daemon") / "home")
    folder = installation.home / "daemon"
    folder.chmod(0o755)
    try:
        done = installation.run("status", python=("-X", "importtime"))
        refused = installation.run("agent", "daemon", "run")
    finally:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGTERM)

    assert "click" in modules(done)
    assert f"error: others can open {folder}: run `chmod 700 {folder}`" in refused.stderr


def test_a_path_that_is_too_long_for_a_socket_is_named(tmp_path: Path):
    """By the daemon and by the diagnosis; hooks start none, and answer in their own process."""
    installation = Installation(tmp_path / ("long" * 30))
    refused = installation.run("agent", "daemon", "run")
    assert refused.returncode == 1
    assert "is too long a path for a socket: set MEMOTHERM_HOME to a shorter one" in refused.stderr
    assert "Traceback" not in refused.stderr
    findings = json.loads(installation.run("doctor", "--json").stdout)["findings"]
    assert [each["state"] for each in findings if each["name"] == "daemon"] == ["warning"]
    installation.run("remember", FACT, "--tier", "hot")
    assert FACT in installation.hook(prompt="Where is staging?").stdout
    assert not (installation.home / "daemon").exists()


@pytest.mark.slow
def test_doctor_says_whether_the_daemon_runs(running: Installation, tmp_path_factory: pytest.TempPathFactory):
    """A stopped one is a note; one that cannot run is a warning with the remedy."""

    def daemon(installation: Installation, **more: str) -> dict[str, str]:
        findings = json.loads(installation.run("doctor", "--json", **more).stdout)["findings"]
        return next(finding for finding in findings if finding["name"] == "daemon")

    assert daemon(running)["detail"] == f"running as process {running.process()}"
    assert daemon(running, MEMOTHERM_DAEMON="off")["detail"] == "not used: it is switched off"
    stopped = Installation(tmp_path_factory.mktemp("daemon") / "home")
    assert daemon(stopped)["remedy"] == "memotherm agent daemon start"
    (stopped.home / "daemon").mkdir(mode=0o755)
    assert (daemon(stopped)["state"], daemon(stopped)["remedy"]) == (
        "warning",
        f"run `chmod 700 {stopped.home}/daemon`",
    )


@pytest.mark.slow
def test_a_daemon_ends_when_it_is_idle_or_its_package_has_changed(tmp_path_factory: pytest.TempPathFactory):
    """The command that finds another version runs in its own process."""
    folder = tmp_path_factory.mktemp("daemon")
    installation = Installation(folder / "home")
    (folder / "sitecustomize.py").touch()
    installation.variables["PYTHONPATH"] += f":{folder}"
    soon = "from memotherm.cli import agent; agent.IDLE_SECONDS = 0.6; agent.agent(['daemon', 'run'])"
    assert python(soon, env=installation.variables).returncode == 0

    command = [sys.executable, "-m", "memotherm", "agent", "daemon", "run"]
    with subprocess.Popen(command, env=installation.variables) as daemon:
        try:
            while installation.process() is None:
                assert daemon.poll() is None
            while not (waiting := forks(daemon.pid)):
                assert daemon.poll() is None
            os.utime(folder / "sitecustomize.py", (1, 1))
            done = installation.run("remember", FACT)

            assert done.returncode == 0
            assert daemon.wait(60) == 0
            while Path(f"/proc/{waiting[0]}").exists():
                pass
        finally:
            daemon.kill()


def test_a_daemon_ends_when_its_folder_is_deleted(tmp_path_factory: pytest.TempPathFactory):
    """Not half an hour later: nobody can reach it."""
    installation = Installation(tmp_path_factory.mktemp("daemon") / "home")
    soon = (
        "from memotherm.daemon import process; process._LOOK_SECONDS = 0.1; "
        "from memotherm.cli import agent; agent.agent(['daemon', 'run'])"
    )
    with subprocess.Popen([sys.executable, "-c", soon], env=installation.variables) as daemon:
        try:
            while installation.process() is None:
                assert daemon.poll() is None
            shutil.rmtree(installation.home)
            assert daemon.wait(60) == 0
        finally:
            daemon.kill()


#: Answers one client as a fork of the daemon does, and never ends by itself; its byte could be read as a number.
_FORK = """
import os, signal, socket
from memotherm.daemon.client import folder_of, socket_path
os.makedirs(folder_of(os.environ), 0o700)
with socket.socket(socket.AF_UNIX) as listener:
    listener.bind(socket_path(folder_of(os.environ)))
    listener.listen()
    print("listening", flush=True)
    connection, _ = listener.accept()
    connection.sendall(bytes([1]))
    signal.pause()
"""


def test_a_signal_reaches_the_process_that_the_kernel_names(tmp_path_factory: pytest.TempPathFactory):
    """A fork does not tell its number, which would mean another process in another namespace."""
    installation = Installation(tmp_path_factory.mktemp("daemon") / "home")
    with subprocess.Popen(
        [sys.executable, "-c", _FORK], stdout=subprocess.PIPE, text=True, env=installation.variables
    ) as fork:
        assert fork.stdout is not None
        assert fork.stdout.readline() == "listening\n"
        client = subprocess.Popen([sys.executable, "-m", "memotherm", "status"], env=installation.variables)
        while not _handles_interrupts(client.pid):
            assert client.poll() is None
        client.terminate()

        assert fork.wait(60) == -signal.SIGTERM
        assert client.wait(60) == -signal.SIGTERM


def test_a_process_with_other_process_numbers_does_not_reach_the_daemon() -> None:
    """The name of the socket contains the namespace of process numbers."""
    from memotherm.daemon import client

    own = Path("/proc/self/ns/pid").readlink()
    assert str(own) in client._identity()
