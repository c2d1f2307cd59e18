"""Quality of partitions, computed from their files: as text, JSON and a page."""
