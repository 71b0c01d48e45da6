"""Tables of counts by name, where they come from, and the random populations."""
