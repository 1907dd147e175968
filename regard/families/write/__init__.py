"""Text generation: a causal language model."""
