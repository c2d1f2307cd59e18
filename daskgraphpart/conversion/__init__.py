"""Conversion: the complete output of `pm_dglpart` becomes a chunked graph and an assignment, which dispatch takes."""
