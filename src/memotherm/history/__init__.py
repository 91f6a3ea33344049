"""The past sessions of coding agents and chat programs, read from the files that these programs keep."""
