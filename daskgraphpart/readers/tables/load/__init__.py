"""Step 2: load. Rows of tables into the database, each with its number in the file; faults by file and line."""
