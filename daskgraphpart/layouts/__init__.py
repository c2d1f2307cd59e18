"""Lay out the bytes of each array of a part, and read them back."""
