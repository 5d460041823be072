"""The shared half of fts."""
