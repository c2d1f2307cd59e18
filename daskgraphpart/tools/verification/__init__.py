"""Compare partitions with the graph they were made of, or with their checksums."""
