"""Build the documentation as a site under build/site: `make site`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
_LINK = re.compile(r"(?<=\]\()(\.\.?/[^)\s#]*)(?=[)\s#])")


def with_repository_links(text: str, page: Path, repository: str) -> str:
    """Return a page with relative links that leave docs/ as links to the files of the repository."""

    def absolute(match: re.Match[str]) -> str:
        target = (page.parent / match[1]).resolve()
        if target.is_relative_to(DOCS):
            return match[1]
        kind = "tree" if target.is_dir() else "blob"
        return f"{repository}/{kind}/main/{target.relative_to(ROOT).as_posix()}"

    return _LINK.sub(absolute, text)


def write_search(site: Path) -> None:
    """Write what the search needs on pages that are opened from the disk.

    A browser gives such a page neither `search.json` nor the script of a worker: its theme reads `search.js` instead,
    which has the index, and lets the worker run from a text.
    """
    (worker,) = (site / "assets" / "javascripts" / "workers").glob("search.*.js")
    text = json.dumps(worker.read_text("utf-8"))
    index = (site / "search.json").read_text("utf-8")
    run = "window.Worker = class extends Worker { constructor() { super(URL.createObjectURL(new Blob([text]))); } };"
    (site / "search.js").write_text(f"var __index = {index};\n{{ const text = {text}; {run} }}\n", "utf-8")


def main() -> int:
    """Write the pages, let Zensical build them, and return its exit code."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
    target = ROOT / config["docs_dir"]
    shutil.rmtree(target, ignore_errors=True)
    shutil.rmtree(ROOT / config["site_dir"], ignore_errors=True)
    shutil.copytree(DOCS, target, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    for page in DOCS.rglob("*.md"):
        text = with_repository_links(page.read_text("utf-8"), page, config["repo_url"])
        (target / page.relative_to(DOCS)).write_text(text, "utf-8")
    code = subprocess.call([sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=ROOT)
    if not code:
        write_search(ROOT / config["site_dir"])
    return code


if __name__ == "__main__":
    sys.exit(main())
