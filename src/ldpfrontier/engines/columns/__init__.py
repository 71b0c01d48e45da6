"""Mechanisms on large tables for people who know the useful value, or something about it."""
