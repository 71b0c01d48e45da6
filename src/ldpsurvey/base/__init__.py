"""Settings, columns of output, names, and draws, on which the command for own data stands."""
