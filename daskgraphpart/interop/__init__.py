"""DGL's names, and ParMETIS' files."""
