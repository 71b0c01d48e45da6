"""Least leakage at a Hamming distortion over a source set (kalantari2018)."""
