"""The engines of the optimizers, each with a bound on every column; README.md is their map."""
