"""Proofs of the bound of PolyOpt over all pairs, on tables of any size."""
