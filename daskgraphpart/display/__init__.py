"""Sizes, durations and tables in one look."""
