"""Parts of a model by themselves: an encoder, a decoder."""
