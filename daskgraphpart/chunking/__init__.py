"""Make chunked graphs out of what is not one: plain edge lists, objects in memory."""
