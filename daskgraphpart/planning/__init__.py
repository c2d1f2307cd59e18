"""What a job will read, write, hold and take, told before it runs; and what it did, beside it."""
