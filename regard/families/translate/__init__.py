"""Translation: an encoder-decoder."""
