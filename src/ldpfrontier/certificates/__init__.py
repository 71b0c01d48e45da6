"""Documents that prove an optimum, a level or a utility to `ldpfrontier.verify`, which needs nothing else."""
