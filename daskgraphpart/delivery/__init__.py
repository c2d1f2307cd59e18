"""Bring finished partitions to where they will be served: into a store, or onto the disks of machines."""
