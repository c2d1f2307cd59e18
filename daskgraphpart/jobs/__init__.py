"""Order, checks and fingerprint of a whole job; public functions."""
