"""METIS and KaMinPar: called in processes of their own."""
