"""Estimates from reports, and how many people they need."""
