"""The text that goes into a prompt: gathered, packed under a token budget, rendered, with a receipt."""

from memotherm.context.values import Context, Entry, Receipt

__all__ = ["Context", "Entry", "Receipt"]
