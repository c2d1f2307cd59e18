"""Step 1: describe. Which files, columns and kinds of values there are; all faults that headers and options tell."""
