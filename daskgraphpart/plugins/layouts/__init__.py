"""Layouts with a directory of their own: raw arrays by rank, Parquet tables, GraphBolt's dataset of the whole graph."""
