"""What the papers claim, decided from the result tables, and the numbers that texts quote from them."""
