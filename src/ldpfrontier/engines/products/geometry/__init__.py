"""One block K_s = {w >= 0: A_s(w) <= e^eps, B_s(w) >= 1}, by the vertices where a column is best."""
