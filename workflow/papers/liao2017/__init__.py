"""liao2017: see paper.yaml beside this file."""
