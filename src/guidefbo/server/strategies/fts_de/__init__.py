"""The shared half of fts-de."""
