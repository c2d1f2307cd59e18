"""Make chunked graphs of what users have: objects in memory or of dask, and plain edge lists."""
