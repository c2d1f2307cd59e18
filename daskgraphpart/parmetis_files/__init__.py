"""ParMETIS, on the rim: its text written and read, and `pm_dglpart`'s output as a chunked graph."""
