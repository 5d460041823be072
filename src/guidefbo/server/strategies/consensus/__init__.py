"""The server's side of the strategy consensus."""
