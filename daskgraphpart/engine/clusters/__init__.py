"""Clusters of dask: on this machine, queued jobs, an address, a scheduler file, or the user's own objects."""
