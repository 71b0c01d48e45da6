"""What the four papers left open, computed with a bound: a module for each paper that asks."""
