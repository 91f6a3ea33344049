"""From a caller's arguments to a stored memory, and its later changes."""
