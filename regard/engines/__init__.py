"""Runs a finished model over many lines at a time, in order: torch, or CTranslate2 without torch."""
