"""Write the input of ParMETIS' programs, and read what they print."""
