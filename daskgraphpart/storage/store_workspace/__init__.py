"""A workspace in a store, for machines that share no disk."""
