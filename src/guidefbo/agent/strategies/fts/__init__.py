"""The private half of fts."""
