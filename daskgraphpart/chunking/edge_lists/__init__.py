"""Chunked graphs from plain edge lists: text, parquet, npz and npy; string and sparse IDs become dense ones."""
