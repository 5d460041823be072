"""Problems on real data. Each module makes the tasks of one problem."""
