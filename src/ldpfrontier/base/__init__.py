"""What everything stands on: types, optional packages, priors, and files that are written whole."""
