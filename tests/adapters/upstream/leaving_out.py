"""A plugin of pytest that leaves out tests by what their source contains."""

from __future__ import annotations

import inspect
import os
from typing import Any


def pytest_collection_modifyitems(config: Any, items: list[Any]) -> None:
    texts = [text for text in os.environ["TESTS_LEFT_OUT"].split("\n") if text]
    left = [item for item in items if any(text in inspect.getsource(item.function) for text in texts)]
    items[:] = [item for item in items if item not in left]
    if left:
        config.hook.pytest_deselected(items=left)
