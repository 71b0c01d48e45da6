"""Mechanisms designed for a table, and those that are known already."""
