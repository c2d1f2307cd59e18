"""Changes of a graph that read its edges, by SQL: split by a column, without duplicates, with or without self-loops."""
