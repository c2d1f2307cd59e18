"""The graph for partitioners: homogeneous, symmetric, merged, without self-loops, as CSR blocks on disk."""
