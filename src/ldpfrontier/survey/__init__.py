"""A user's own data: design a mechanism, privatize records with it, estimate from them, audit it."""
