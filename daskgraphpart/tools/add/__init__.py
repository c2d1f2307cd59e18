"""Add features to finished partitions."""
