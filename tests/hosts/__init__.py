"""The real Claude Code and Codex against a model API on this machine: `make hosts`."""
