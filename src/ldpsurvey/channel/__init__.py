"""The file of a designed mechanism: what it promises, and reports drawn with it."""
