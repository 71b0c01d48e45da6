"""The project's own results, past the papers: certified optima over the uncertainty sets of lopuhaa2024."""
