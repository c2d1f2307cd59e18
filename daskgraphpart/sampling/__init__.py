"""Sample neighbours from partitions on disk: batches for PyG, and an estimate of what training fetches."""
