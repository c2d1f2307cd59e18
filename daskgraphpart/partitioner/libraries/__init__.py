"""METIS and KaMinPar, in processes of their own."""
