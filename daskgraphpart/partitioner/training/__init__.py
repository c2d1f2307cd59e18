"""Parts for sampled training: how often each edge is sampled, and which rows parts fetch from each other."""
