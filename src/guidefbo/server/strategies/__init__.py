"""The server's side of each federation strategy, one folder each."""
