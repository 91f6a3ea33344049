"""Where memories are kept. The only place with SQL."""
