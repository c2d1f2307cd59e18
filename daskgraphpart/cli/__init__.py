"""The command line: `partition` has a file of its own, so that it loads no other command; the rest are grouped."""
