"""Closed forms of kairouz2016 that nothing else uses: the geometric and the quaternary mechanism."""

from __future__ import annotations

import math

import numpy as np

from ldpfrontier.model.channel import Channel
from ldpfrontier.model.mechanisms import checked_letters
from ldpfrontier.model.optimum import checked_epsilon
from ldpfrontier.numerics.arguments import as_number


def geometric_mechanism(k: int, epsilon: float) -> Channel:
    """Make the geometric mechanism, whose tails are added to the end points (kairouz2016, section 3.4).

    (1 - q) / (1 + q) q^|y - x| with q = e^(-epsilon / (k - 1)) over all integers y, what falls beyond 0 or
    k - 1 counted there: exactly epsilon-LDP. (The paper prints epsilon for e^-epsilon.)

    Arguments, result and errors are those of `randomized_response`.
    """
    k = checked_letters(k, "k")
    rate = checked_epsilon(epsilon) / max(k - 1, 1)
    if k == 1:
        return Channel(np.ones((1, 1)))
    x = np.arange(k)
    Q = np.exp(-rate * np.abs(x[:, None] - x))
    Q[:, 1:-1] *= -math.expm1(-rate)
    return Channel(Q / (1.0 + math.exp(-rate)))


def quaternary_mechanism(epsilon: float, delta: float) -> Channel:
    """Make the mechanism that dominates all binary (epsilon, delta)-LDP ones (kairouz2016, Theorem 18).

    With probability delta the input is revealed (outputs 0 and 1); else randomized response tells it truly
    with probability e^eps / (1 + e^eps) (output 3 stands for input 0, output 2 for input 1).

    Parameters
    ----------
    epsilon : float
        Nats, 0, or 0.001 to 300.
    delta : float
        In [0, 1].

    Returns
    -------
    Channel
        Shape (2, 4).

    Raises
    ------
    ValueError
        If a parameter is out of range.
    """
    lie = math.exp(-checked_epsilon(epsilon))
    delta = as_number(delta, "delta", "a probability, from 0 to 1", least=0.0, most=1.0)
    truth = (1.0 - delta) / (1.0 + lie)
    return Channel(np.array([[delta, 0.0, lie * truth, truth], [0.0, delta, truth, lie * truth]]))
