"""Public data sets: what there is, where a copy lies, how one is fetched."""
