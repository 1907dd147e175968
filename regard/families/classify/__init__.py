"""Text classification: a text attends to labels."""
