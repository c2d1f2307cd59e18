"""GraphStorm's layout: DGL's files in its directories, with the files that it reads beside them."""
