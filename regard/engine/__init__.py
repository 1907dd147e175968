"""Runs a finished model over many lines at a time, in order."""
