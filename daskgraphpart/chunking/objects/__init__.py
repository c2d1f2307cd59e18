"""Chunked graphs of Python objects: frames, arrays, sparse matrices, graphs of other libraries."""
