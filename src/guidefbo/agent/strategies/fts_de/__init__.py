"""The private half of fts-de."""
