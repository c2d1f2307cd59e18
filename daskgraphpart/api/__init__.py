"""The package's functions: read, assign, dispatch, partition, open."""
