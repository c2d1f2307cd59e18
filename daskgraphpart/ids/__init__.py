"""IDs: the partition book and its ranges; maps to the IDs of the user, and what is recorded of them."""
