"""Channels, levels of privacy, information, utilities, cones of columns, closed forms, and optima."""
