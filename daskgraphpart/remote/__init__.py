"""Files that have URLs: names of stores, ranges of bytes, uploads."""
