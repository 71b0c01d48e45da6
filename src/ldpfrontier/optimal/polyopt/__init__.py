"""PolyOpt: the column LP with polytopes for blocks, as every R_s lies in a simplex around F_{U|s}."""
