"""The folder of a project, read without running anything of it: whether conditions are true, and files unchanged."""
