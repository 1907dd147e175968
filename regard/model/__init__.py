"""Tensors to tensors: the parts of a Transformer. No strings, no files, no training here.

Shape letters, used everywhere:
B batch · T query or target length · S key or source length · D width · H heads · K head width · V vocabulary
M memory slots · L words per slot · W beam width

Masks have one polarity: True = may attend. Every query may attend to at least one key.
"""
