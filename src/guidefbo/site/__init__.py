"""The agent of a real site: ask today, tell next week from another process."""
