"""What data and planning stand on, with the standard library and PyYAML alone."""
