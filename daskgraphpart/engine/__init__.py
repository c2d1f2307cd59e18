"""Run passes as dask graphs, on any of dask's schedulers."""
