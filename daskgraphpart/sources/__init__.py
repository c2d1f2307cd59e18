"""Turn anything else into a chunked graph: edge lists, arrays, frames, other libraries' objects, synthetic graphs."""
