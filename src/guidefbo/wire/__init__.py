"""Messages: their fields, their checks and their encoding."""
