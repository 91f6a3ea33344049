"""Contexts: the text for a prompt under a token budget, with a receipt."""

from memotherm.context.values import Context, Entry, Receipt

__all__ = ["Context", "Entry", "Receipt"]
