"""Open partitions."""
