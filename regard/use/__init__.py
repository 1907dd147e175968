"""Using a trained model: one class per family, text in and text out."""
