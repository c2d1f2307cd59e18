"""Read and write DGL's Chunked Graph Data Format (CGDF)."""
