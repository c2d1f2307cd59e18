"""The graph that partitioners see: homogenised, symmetrised, merged, without self-loops, as CSR blocks on disk."""
