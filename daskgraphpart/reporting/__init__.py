"""Quality of partitions, computed from their files, and what training fetches: as text, JSON and a page."""
