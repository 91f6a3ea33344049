"""The command line of a broken product: `python tests/spec/audit/faults/__main__.py E14 recall harbour`."""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[4])
    from tests.spec.audit.faults import applied

    with applied(sys.argv.pop(1)):
        from memotherm.__main__ import main

        main()
