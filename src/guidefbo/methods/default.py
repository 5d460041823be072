"""The method of a site that names none, in a module that imports nothing.

Why it is this one: docs/guide/which-method.md.
"""

DEFAULT_METHOD = "shape-ucb"
"""What sites exchange and how they decide, where nobody says it."""
LONE_METHOD = "trend-ucb"
"""The same model and the same rule where nothing will ever be exchanged."""
