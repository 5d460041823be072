"""Types and functions that the private and the shared side both use."""
