"""Files: regions of rows, atomic writing, zarr arrays."""
