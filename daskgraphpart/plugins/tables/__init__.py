"""Graphs in tables: text, Parquet, frames and more, with IDs of any kind; changes that read edges; read by DuckDB."""

from daskgraphpart.registry import Command

CHUNK = Command(
    "Turn tables into a chunked graph.",
    "daskgraphpart.plugins.tables.chunk_command:chunk",
    after="plan",
)
