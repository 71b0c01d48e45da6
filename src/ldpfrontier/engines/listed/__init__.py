"""Optima over extreme columns that are all listed: of LDP, of anyone, of any polyhedral cone."""
