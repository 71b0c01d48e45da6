"""Robust mechanisms with a second level, for people who know the useful value, on large tables."""
