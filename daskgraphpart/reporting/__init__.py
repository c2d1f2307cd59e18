"""What partitions are worth: figures computed from their files, as text, JSON and a page."""
