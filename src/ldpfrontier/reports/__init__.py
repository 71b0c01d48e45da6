"""Several reports of one person, and uncertainty sets that reports themselves give."""
