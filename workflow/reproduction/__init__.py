"""The engine of the reproduction: the papers, their jobs, tables and claims, and the page of all of them."""
