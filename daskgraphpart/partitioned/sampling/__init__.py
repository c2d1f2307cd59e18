"""Sample neighbours from partitions on disk: batches for PyG."""
