"""The column program of any cone and any sublinear convex utility."""
