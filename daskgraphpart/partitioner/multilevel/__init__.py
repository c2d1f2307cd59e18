"""Semi-external multilevel partitioning: arrays per node in memory, the adjacency on disk.

Meyerhenke, Sanders and Schulz, "Partitioning complex networks via size-constrained clustering" (SEA 2014); Akhremtsev,
Sanders and Schulz, "(Semi-)external algorithms for graph partitioning and clustering" (ALENEX 2015).
"""
