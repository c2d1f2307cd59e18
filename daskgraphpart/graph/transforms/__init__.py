"""Changes of a graph: what was asked for, its checks, and the views that need no reading."""
