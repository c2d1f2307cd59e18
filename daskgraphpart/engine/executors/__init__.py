"""Two adapters of dask: its local schedulers, and distributed."""
