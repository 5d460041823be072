"""The private half of each strategy, one file each."""
