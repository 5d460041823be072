"""Problems a federation can be tried on: objectives, their variation and noise."""
