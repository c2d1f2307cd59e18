"""Compare partitions with the graph they were made from."""
