"""Strings to ids and back. Nothing in this room imports torch."""
