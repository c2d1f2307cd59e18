"""Methods of partitions whose work is done by tools and loaders, imported when called."""
