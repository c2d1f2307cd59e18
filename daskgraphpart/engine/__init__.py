"""Run passes over partitions of lazy collections as dask graphs, on whatever scheduler dask has."""
