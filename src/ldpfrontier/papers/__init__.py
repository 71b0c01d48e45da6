"""One folder per paper, found by looking."""
