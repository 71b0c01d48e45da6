"""Liao, Sankar, Tan and Calmon (2017): hypothesis testing under a limit on the mutual information."""
