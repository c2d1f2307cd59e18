"""Public data sets as they are downloaded: a module per layout, which names the files of its tables."""
