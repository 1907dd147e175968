"""The command line: commands (thin) and how events look on a terminal. Uses the public names only."""
