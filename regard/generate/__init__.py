"""One step at a time. Knows a step function, not a model."""
