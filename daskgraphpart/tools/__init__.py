"""What is done with finished partitions: verify, report, reorder rows, add features; synthetic graphs."""
