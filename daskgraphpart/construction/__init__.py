"""Graphs that GraphStorm's construction configs describe: tables, transforms of features, labels and splits."""
