"""The private half of cgp."""
