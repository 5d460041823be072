"""The shared half of consensus."""
