"""Bounds on large tables: affine bounds of f_s on every block K_s, verified by branch and bound."""
