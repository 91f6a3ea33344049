"""Build the documentation as a site under build/site: `make site`."""

from __future__ import annotations

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
    return subprocess.call([sys.executable, "-m", "zensical", "build", "--strict", "--clean"], cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
