"""The shared half of fmtbo."""
