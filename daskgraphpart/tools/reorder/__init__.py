"""Bring rows, such as embeddings, from the order of new IDs back into that of the input."""
