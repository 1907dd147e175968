"""Question answering over stories: a Transformer, or a memory network."""
