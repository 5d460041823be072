"""The shared side: code that reads uploads and never an observation."""
