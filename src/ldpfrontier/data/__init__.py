"""Tables of counts by name."""
