"""The shape strategy on the server's side."""
