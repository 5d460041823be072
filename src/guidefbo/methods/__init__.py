"""Methods: a strategy of federation paired with a rule of decision."""
