"""kairouz2016: see paper.yaml beside this file."""
