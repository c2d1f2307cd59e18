"""The command line: commands that run jobs, that make graphs, and a file for each of the others."""
