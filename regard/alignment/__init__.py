"""Which words belong together: lexical table, HMM, attention heads, links."""
