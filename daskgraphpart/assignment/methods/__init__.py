"""Partitioners: one file per method, each gives every node an owner."""
