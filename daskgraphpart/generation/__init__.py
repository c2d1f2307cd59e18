"""Synthetic chunked graphs of any size, written chunk by chunk."""
