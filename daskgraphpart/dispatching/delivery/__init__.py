"""Partitions that go to a store or to the disks of machines, and features that are staged until then."""
