"""Kalantari, Sankar and Sarwate (2018): least leakage under a limit on the Hamming distortion."""
