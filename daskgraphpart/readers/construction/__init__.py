"""Graphs from GraphStorm's construction configs: tables, transforms of features, labels and splits."""
