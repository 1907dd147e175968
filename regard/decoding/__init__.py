"""Search, sampling and constraints over a step function. Knows no model."""
