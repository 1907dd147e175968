"""Fill-mask: a masked language model."""
