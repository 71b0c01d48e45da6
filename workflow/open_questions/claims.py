"""The checks of the claims about what the papers left open."""

from reproduction.ledger.stated_numbers import numbers_agree

__all__ = ["numbers_agree"]
