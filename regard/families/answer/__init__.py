"""Question answering over stories: a memory network, or a Transformer."""
