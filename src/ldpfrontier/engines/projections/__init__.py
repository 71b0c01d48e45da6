"""The column LP with the blocks of the projections F_{U|s} themselves, and with a shared budget of F."""
