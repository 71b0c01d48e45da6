"""Hypothesis testing under mutual information leakage (liao2017)."""
