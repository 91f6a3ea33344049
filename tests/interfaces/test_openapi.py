"""The OpenAPI document is the contract: schemathesis reads it and tries to find an answer that breaks it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

import memotherm
from memotherm.rest.app import application
from tests.helpers import opened
from tests.interfaces.served import Served, served

CONFIG = """
headers = {{ Authorization = "Bearer {key}" }}
[checks.positive_data_acceptance]
expected-statuses = ["2xx", "3xx", 401, 403, 404, 409, 412, 429]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    path = tmp_path_factory.mktemp("openapi") / "memory.db"
    with memotherm.open(path, settings={"embedder": "none"}) as mem:
        key = mem.keys.create("schemathesis", "acme")
        mem.scoped(tenant="acme").remember("Otters hold hands while they sleep", tier="hot")
    with served(path, key=key, MEMOTHERM_SYNCHRONOUS="normal") as running:
        yield running


@pytest.mark.slow
def test_no_request_that_follows_the_document_finds_an_answer_that_does_not(server: Served, tmp_path: Path) -> None:
    """All checks, all phases, as far as they come in the time that a quick run has."""
    config = tmp_path / "schemathesis.toml"
    config.write_text(CONFIG.format(key=server.key))
    done = subprocess.run(
        [
            str(Path(sys.executable).parent / "schemathesis"), "--config-file", str(config),
            "run", f"{server.url}/openapi.json", "--checks", "all", "--max-examples", "3",
            "--max-time", "12", "--workers", "2", "--seed", "1", "--suppress-health-check", "all",
        ],
        capture_output=True, text=True, cwd=tmp_path, timeout=240, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout[-12000:] + done.stderr[-2000:]


@pytest.mark.slow
def test_the_document_follows_the_specification_of_openapi() -> None:
    """Version 3.1, and every default is a value that its own schema accepts."""
    mem = opened()
    document = _document(mem)
    mem.close()

    assert document["openapi"].startswith("3.1.")
    assert [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_every_operation_is_named_tagged_and_explained() -> None:
    """A generated client has a good name for each call."""
    mem = opened()
    document = _document(mem)

    operations = [operation for path in document["paths"].values() for operation in path.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names)) >= 25
    assert all(operation["tags"] and operation["description"] for operation in operations)
    assert document["info"]["license"]["identifier"] == "Apache-2.0"
    assert document["security"] == [{"key": []}]
    mem.close()


def test_closed_sets_are_enums_in_the_document() -> None:
    """C03: the kinds of the source, states, suggestions and targets are listed for those who generate a client."""
    mem = opened()
    schemas = _document(mem)["components"]["schemas"]
    mem.close()
    added = schemas["SessionAddRequest"]["properties"]["type"]
    spilled = schemas["Spill"]["properties"]["targetTier"]

    assert set(added["anyOf"][0]["enum"]) >= {"message", "fact", "decision", "entity", "context"}
    assert added["default"] == "message"
    assert schemas["SessionStatus"]["properties"]["state"]["enum"] == ["active", "archived", "summarized"]
    assert schemas["Suggestion"]["properties"]["type"]["enum"] == ["spill", "recall", "prune"]
    assert spilled["anyOf"][0]["enum"] == ["warm", "cold", "mixed"]


def _document(mem: memotherm.Memotherm) -> Any:
    from starlette.testclient import TestClient

    with TestClient(application(mem), base_url="http://127.0.0.1") as client:
        return client.get("/openapi.json").json()
