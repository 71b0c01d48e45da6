"""Mechanisms with the least error of what is estimated from reports, and the error of any mechanism."""
