"""The best eps-LDP mechanism: the column LP over the 2^k staircase columns, and NR, which follows from it."""
