"""Extend partitions to a graph that has grown: nodes that are still there keep their owners."""
