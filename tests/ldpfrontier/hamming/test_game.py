"""The matrix game of the least distortion, against a program in all entries of the channel."""

import math

import numpy as np
import pytest

from ldpfrontier.hamming.game import Game, channel_from_minima
from oracles.hamming_lp import hamming_lp


@pytest.mark.parametrize("seed", range(8))
def test_the_value_is_that_of_the_program_in_all_entries(seed):
    rng = np.random.default_rng(seed)
    J, M = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    P = rng.dirichlet(np.ones(M), size=J)
    game = Game(P)
    for t in (1.0, 1.3, math.e, 20.0):
        value, worst, minima = game.solve(t)
        assert value == pytest.approx(hamming_lp(P, t), abs=1e-8)
        assert worst.sum() == pytest.approx(1.0)
        # The channel of the minima is private, and attains the value for every distribution.
        Q = channel_from_minima(minima, t).matrix
        assert (P @ np.diag(Q)).min() >= value - 1e-8
        assert (Q.max(axis=0) <= t * (1 + 1e-9) * Q.min(axis=0)).all()
