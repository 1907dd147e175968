"""Fill-mask: a masked language model."""

MASK = "[MASK]"  # marks a gap
TOP = 5  # candidates for each
