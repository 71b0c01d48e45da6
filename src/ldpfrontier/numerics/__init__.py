"""Tools that know nothing of privacy: numbers as given, linear programs, subset sums, compiled kernels."""
