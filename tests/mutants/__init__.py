"""Changes to the pure code, one at a time, and which of them the tests notice: `make mutants`."""
