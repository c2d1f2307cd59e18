"""Fuzz the reader of parquet files; see engine.py."""

from engine import run

if __name__ == "__main__":
    run("parquet", "check_parquet", "parquet_files")
