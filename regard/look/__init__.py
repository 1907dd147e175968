"""Attention to pictures: record what a model looks at, and draw it."""
