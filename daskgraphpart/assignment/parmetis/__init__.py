"""ParMETIS interchange: the text its programs of the branch `dgl` read, and the parts they write."""
