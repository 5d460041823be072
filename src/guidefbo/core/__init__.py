"""The vocabulary both sides of the wire share."""
