"""Certified optima: the column LP and the families of columns over which it is solved."""
