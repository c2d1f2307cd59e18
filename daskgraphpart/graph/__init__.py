"""Graphs: lazy, in chunks, as scans; transforms."""
