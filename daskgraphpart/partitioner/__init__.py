"""Partition the graph: which part owns each node; adjacency, weights, balance, methods."""
