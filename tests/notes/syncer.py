"""Another process that syncs a folder of notes into a store: `syncer.py store root [slow]`.

It prints a line for each group of files that was committed, so that it can be killed at any of them.
"""

# ruff: noqa: T201 - what it prints is what it is asked for

from __future__ import annotations

import sys
import time

import memotherm
from memotherm.testing import HashEmbedder


def main() -> None:
    store, root, pause = sys.argv[1], sys.argv[2], float(sys.argv[3])

    def told(done: int, total: int) -> None:
        print(f"{done}/{total}", flush=True)
        time.sleep(pause)

    with memotherm.open(store, embedder=HashEmbedder()) as mem:
        print("begin", flush=True)
        print(mem.notes(root).sync(told), flush=True)


if __name__ == "__main__":
    main()
