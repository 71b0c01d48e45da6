"""Numerical tools that do not depend on privacy: linear programs, subset sums, compiled kernels."""
