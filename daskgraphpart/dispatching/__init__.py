"""Bring every node, edge and row to its owner."""
