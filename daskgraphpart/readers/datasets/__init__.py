"""Public data sets as downloaded: OGB, MAG240M, WikiKG90Mv2, IGB. A module per layout names the files."""
