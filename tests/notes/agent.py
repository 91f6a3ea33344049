"""An agent's process, near the end of its context: it asks, is told to flush, and writes with plain tools.

`agent.py store root` prints what it was told and where it wrote, as JSON.
"""

# ruff: noqa: T201 - what it prints is what it is asked for

from __future__ import annotations

import json
import sys
from pathlib import Path

import memotherm
from memotherm.testing import HashEmbedder


def main() -> None:
    store, root = sys.argv[1], Path(sys.argv[2])
    with memotherm.open(store, embedder=HashEmbedder()) as mem:
        session = mem.session("chat-1")
        told = [session.flush_due(tokens, root=root) for tokens in (40_000, 120_000, 177_500, 178_000)]
        due = [flush for flush in told if flush is not None]
        (flush,) = due
        file = root / flush.file
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as handle:
            handle.write("# Release\n\n- The release train leaves on Thursday.\n- Ask Noor about the signing key.\n")
        print(json.dumps({"told": [flush is not None for flush in told], "file": flush.file, "prompt": flush.prompt}))


if __name__ == "__main__":
    main()
