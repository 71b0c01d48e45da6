"""Kairouz, Oh and Viswanath (2016): staircase mechanisms, optimal for local differential privacy."""
