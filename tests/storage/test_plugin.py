"""A store of another package: the one of the how-to page, installed beside Memotherm."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import memotherm
from memotherm.errors import InvalidInput, PluginUnavailable
from memotherm.settings import Settings
from memotherm.storage.open import open_store
from memotherm.storage.store import Store
from tests.helpers import ROOT
from tests.storage.contract import CheckpointContract, StoreContract


def install(site: Path, module: str, source: str, entry_point: str) -> None:
    """Write a package with an entry point of the group `memotherm.stores`, as an installer does."""
    (site / f"{module}.py").write_text(source, "utf-8")
    metadata = site / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", "utf-8")
    (metadata / "entry_points.txt").write_text(f"[memotherm.stores]\n{entry_point}\n", "utf-8")


@pytest.fixture(scope="module", autouse=True)
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of installed packages, with the example of the how-to page."""
    page = (ROOT / "docs" / "how-to" / "store.md").read_text("utf-8")
    example = re.search(r"```python\n(.+?)```", page, re.DOTALL)
    assert example is not None
    folder = tmp_path_factory.mktemp("site")
    install(folder, "memotherm_drive", example[1], "drive = memotherm_drive:DriveStore")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield folder
        sys.modules.pop("memotherm_drive", None)


class TestDriveStore(StoreContract, CheckpointContract):
    """The example keeps the contract."""

    def open_store(self, folder: Path) -> Store:
        """Open it by its URL."""
        return open_store(f"drive://{folder}/agent.db", Settings())


def test_a_store_of_another_package_is_opened_by_its_scheme(tmp_path: Path) -> None:
    """What was remembered is there when it is opened again, and it can be migrated."""
    url = f"drive://{tmp_path}/agent.db"
    with memotherm.open(url, embedder="none") as mem:
        mem.remember("an otter swims")
    memotherm.migrate(url, tmp_path / "copy.db")

    for store in (url, str(tmp_path / "copy.db")):
        with memotherm.open(store, embedder="none") as mem:
            assert [hit.memory.content for hit in mem.recall("otter")] == ["an otter swims"]


def test_an_unknown_scheme_is_answered_with_the_known_ones() -> None:
    """Those of installed packages included."""
    with pytest.raises(InvalidInput, match=r"mysql://.* drive://, postgres://, postgresql://, sqlite://"):
        memotherm.open("mysql://host/db", embedder="none")


def test_a_missing_driver_is_answered_with_the_line_that_installs_it(site: Path) -> None:
    """The package of a store may need another one."""
    install(site, "memotherm_other", "import a_driver_that_is_missing\n", "other = memotherm_other:Store")

    with pytest.raises(PluginUnavailable, match="pip install a_driver_that_is_missing"):
        memotherm.open("other://host/db", embedder="none")
