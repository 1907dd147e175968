"""The road in: text is prepared, a run planned and trained, its model written. Knows a recipe, not a family."""
