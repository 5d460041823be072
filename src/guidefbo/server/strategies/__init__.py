"""The shared half of each strategy, one file each."""
