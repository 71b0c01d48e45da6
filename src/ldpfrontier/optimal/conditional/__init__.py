"""Robust mechanisms that limit what is told to those who know the useful value, too, on large tables."""
