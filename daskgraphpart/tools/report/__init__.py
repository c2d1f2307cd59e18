"""Report how good partitions are, and compare methods."""
