"""Make a graph from anything else: tables, arrays, frames, other libraries' objects, synthetic graphs."""
