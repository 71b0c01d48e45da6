"""The command `ldp-frontier`: its options, what it prints, and the files it writes."""
