"""A thin adapter over dask: passes, resources, executors, progress."""
