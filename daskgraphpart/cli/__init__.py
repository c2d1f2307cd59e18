"""The command line: a file for commands that run jobs, one for those that make graphs, one for each other group."""
