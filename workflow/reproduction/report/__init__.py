"""One page with all results, claims, certificates and their provenance."""
