"""Array in, array out: compiled loops that release the GIL. The only door to numba."""
