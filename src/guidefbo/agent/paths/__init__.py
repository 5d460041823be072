"""Sample paths of the posterior, and their maximisers."""
