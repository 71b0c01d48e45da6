"""One module per paper: a result table to a matplotlib figure, in one shared style."""
