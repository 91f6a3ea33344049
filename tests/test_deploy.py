"""The files for deployment agree with the program."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

import pytest
import yaml

from memotherm import Settings
from memotherm.cli.app import COMMANDS
from memotherm.cli.server import serve
from tests.helpers import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
UNIT = ROOT / "deploy" / "memotherm.service"
PAGE = (ROOT / "docs" / "how-to" / "deploy.md").read_text("utf-8")
_RESERVED = {"MEMOTHERM_HOME"}


def named_settings(text: str) -> set[str]:
    return set(re.findall(r"\bMEMOTHERM_[A-Z_]+\b", text)) - _RESERVED


@pytest.mark.parametrize("text", [str(COMPOSE), DOCKERFILE, UNIT.read_text("utf-8"), PAGE])
def test_every_variable_is_a_setting(text: str) -> None:
    """Every variable in the files is read by the program."""
    known = {f"MEMOTHERM_{name.upper()}" for name in Settings.__dataclass_fields__}

    assert named_settings(text) <= known


def test_what_containers_start_exists() -> None:
    """Commands and options are those of the command line."""
    options = {name for each in serve.params for name in each.opts}
    started = [COMPOSE["services"]["server"]["command"], re.findall(r'"([^"]+)"', DOCKERFILE.splitlines()[-1])]

    for verb, *rest in started:
        assert verb in COMMANDS
        assert {word for word in rest if word.startswith("--")} <= options
    for verb in re.findall(r"(?:run --rm (?:\S+ \S+ )?(?:server|memotherm)|`memotherm) (\w+)", PAGE):
        assert verb in COMMANDS


def test_the_image_copies_what_exists() -> None:
    """The build context contains these files only."""
    copied = [
        word for line in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE) for word in line.split()[:-1]
    ]
    ignored = (ROOT / ".dockerignore").read_text("utf-8")

    assert copied
    for name in copied:
        assert (ROOT / name).exists()
        assert f"!{name.removeprefix('./')}" in ignored.splitlines()


def test_every_secret_is_made_by_the_page() -> None:
    """The page creates every file that the containers read."""
    for secret in COMPOSE["secrets"].values():
        assert f"> {secret['file'].removeprefix('./')}" in PAGE
    for service in COMPOSE["services"].values():
        assert set(service["secrets"]) <= set(COMPOSE["secrets"])
        assert all("password" not in str(value).lower() or "/run/secrets/" in str(value)
                   for value in service["environment"].values())  # fmt: skip


def test_nothing_listens_beyond_the_machine() -> None:
    """Ports are published on the loopback interface only."""
    ports = [port for service in COMPOSE["services"].values() for port in service.get("ports", [])]

    assert ports
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_the_script_for_the_database_is_shell() -> None:
    """The shell can parse it."""
    script = ROOT / "deploy" / "postgres.sh"

    assert subprocess.run(["sh", "-n", script], check=False).returncode == 0
    assert "NOSUPERUSER NOBYPASSRLS" in script.read_text("utf-8")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="needs systemd-analyze")
def test_systemd_takes_the_unit() -> None:
    """The only complaint is that the program is not installed."""
    told = subprocess.run(["systemd-analyze", "verify", UNIT], capture_output=True, text=True, check=False)
    complaints = [line for line in told.stderr.splitlines() if "memotherm.service" in line]

    assert [line for line in complaints if "is not executable" not in line] == []
