"""Optimal privacy mechanisms, each with a bound on every mechanism of its class; README.md is the map."""
