"""Graphs in objects: frames, arrays, collections of dask, graphs of scipy, networkx, PyG and DGL."""
