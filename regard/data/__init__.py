"""Ids to tensors. Shape letters: B batch, T target length, S source length."""
