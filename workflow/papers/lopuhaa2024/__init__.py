"""Lopuhaä-Zwakenberg and Goseling (2024): mechanisms that are private for a set of distributions."""
