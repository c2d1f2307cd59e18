"""ParMETIS, a room on the rim: its text written and read, and the output of `pm_dglpart` as a chunked graph."""
