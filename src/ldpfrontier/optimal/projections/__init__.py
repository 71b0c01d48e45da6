"""The column LP whose blocks K_s are those of the projections F_{U|s} themselves, on tables of any size."""
