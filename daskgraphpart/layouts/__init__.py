"""Say where the bytes of each array of a part lie, and read what was laid out."""
