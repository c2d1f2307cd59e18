"""Step 3: place. IDs mapped, features in the order of nodes and edges, all staged in files."""
