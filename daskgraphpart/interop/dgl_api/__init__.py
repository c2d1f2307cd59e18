"""DGL's functions and scripts, with DGL's names and arguments."""
