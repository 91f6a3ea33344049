"""Credentials and private passages in texts: finding them, and replacing them by a mark."""

from memotherm.text.redaction.redactor import MARK, Redacted, Redactor, redactor

__all__ = ["MARK", "Redacted", "Redactor", "redactor"]
