"""Makes weights better. Knows a loss function, not a task."""
