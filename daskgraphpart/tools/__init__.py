"""What is done with finished partitions: verify, report, remap; synthetic graphs."""
