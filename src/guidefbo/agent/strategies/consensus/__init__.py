"""The private half of consensus."""
