"""The demonstration of `memotherm demo`: a week of an agent's memories, and a chart of half a year."""
