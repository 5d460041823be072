"""The private half of fmtbo."""
