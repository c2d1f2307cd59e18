"""Changes of a graph that read its edges, by SQL: split by a column, without self-loops or duplicates."""
