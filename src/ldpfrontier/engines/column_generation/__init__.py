"""The column LP, max sum theta_j mu(v_j) subject to sum theta_j v_j = 1, and the duals that bound it."""
