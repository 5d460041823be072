"""The shared half of cgp."""
