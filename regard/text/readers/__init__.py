"""Files as rows of texts, one small reader for each format. Knows nothing of pairs, and of no model."""
