"""Arrays in, arrays out: compiled loops that release the GIL. Only this package imports numba."""
