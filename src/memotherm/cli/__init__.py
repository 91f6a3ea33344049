"""The command line; the module of a command is imported when the command is called."""
