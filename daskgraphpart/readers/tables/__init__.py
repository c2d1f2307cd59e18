"""Graphs in tables: text, Parquet, frames and more, with IDs of any kind; changes that read edges; read by DuckDB."""
