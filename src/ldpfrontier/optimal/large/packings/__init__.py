"""Packings of the inputs: mutual information under local differential privacy, of more than 20 inputs."""
