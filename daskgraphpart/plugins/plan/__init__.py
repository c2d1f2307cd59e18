"""Estimate disk, memory and method of a job: the command `plan`, and the line with which jobs begin."""
