"""A method: a federation strategy paired with a decision rule."""
