"""Reports of studies: tables, figures and one page, from result files alone."""
