"""Load partitions into PyG: parts, stores, and sampled batches of nodes and links."""
