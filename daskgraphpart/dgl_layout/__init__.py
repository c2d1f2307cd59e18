"""The byte formats of DGL partitions."""
