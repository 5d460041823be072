"""The shared side: what may see uploads, and never an observation."""
