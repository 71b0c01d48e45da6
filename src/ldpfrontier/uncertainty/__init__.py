"""The Renyi ball F = {P: D_alpha(P-hat || P) <= B}: extreme means over it, and the levels of mechanisms."""
