"""Open what came out."""
