"""What the commands compute from reports, in Python: of files or data frames, for every kind of channel."""
