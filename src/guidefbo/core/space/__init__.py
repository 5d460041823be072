"""Search spaces: parameters, constraints, and their way to the unit cube."""
