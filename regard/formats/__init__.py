"""Weights and settings under other names: Hugging Face, CTranslate2, our own."""
