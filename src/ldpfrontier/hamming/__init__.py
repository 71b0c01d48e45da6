"""Least leakage at a distortion over a source set (kalantari2018): Hamming's, and any other one.

X has M letters and a distribution in a source set; a channel Q on the same letters has the distortions
D_i = 1 - Q[i, i] and must keep sum_i P_i D_i <= D for every P of the set, hence of its convex hull. The
least leakage log max Q[i, y] / Q[i', y] (DP) or max_P I(P; Q) (MI) under that rule is computed here for any
finite list of distributions, in nats. Two reductions, to 2M numbers instead of M^2, carry it: `game` for DP,
`mi_leakage` for MI. Other distortions take a linear program over the channel itself (`any_distortion`).
"""
