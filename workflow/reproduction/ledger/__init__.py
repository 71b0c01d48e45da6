"""The claims of the papers, decided from result tables, and the numbers that texts quote from these."""
