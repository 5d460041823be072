"""Parts of the search for the best point of a task's box."""
