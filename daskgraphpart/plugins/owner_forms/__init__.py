"""Owners as parquet files and zarr arrays, beside npy and text."""
