"""One module per paper: pure functions from inputs and a grid to a table."""
