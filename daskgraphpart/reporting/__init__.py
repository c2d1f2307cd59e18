"""Quality of partitions: figures computed from their files, as text, JSON and a page."""
