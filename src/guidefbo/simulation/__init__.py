"""A whole federation in one process."""
