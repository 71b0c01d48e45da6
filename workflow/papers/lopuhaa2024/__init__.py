"""lopuhaa2024: see paper.yaml beside this file."""
