"""Give every node an owner."""
