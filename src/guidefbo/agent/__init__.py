"""The private side: all code that may read a site's observations."""
