"""Characters that are not shown."""

from __future__ import annotations

__all__ = ["INVISIBLE"]

#: For a class in a pattern: Unicode's Default_Ignorable_Code_Point, and controls except line breaks and tabs.
INVISIBLE = (
    "\\x00-\\x08\\x0e-\\x1f\\x7f-\\x9f\\xad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f"
    "\\u202a-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufff8"
    "\\U0001bca0-\\U0001bca3\\U0001d173-\\U0001d17a\\U000e0000-\\U000e0fff"
)
