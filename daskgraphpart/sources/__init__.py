"""Turn anything else into a chunked graph: edge lists, arrays, collections, objects of other libraries, recipes."""
