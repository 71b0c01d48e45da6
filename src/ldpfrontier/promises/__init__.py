"""What users call: one module for each promise, which chooses the engine for its class and size."""
