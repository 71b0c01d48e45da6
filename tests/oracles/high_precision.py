"""Extremes over Renyi balls with 60 digits, by bisection: what `ldpfrontier.uncertainty.divergence` is
compared with."""

from collections.abc import Sequence

from mpmath import exp, expm1, fsum, log, mp, mpf

mp.dps = 60


def normalized(p: Sequence[float]) -> list[mpf]:
    """The distribution that floats are rounded from: their sum is 1."""
    total = fsum(map(mpf, p))
    return [mpf(x) / total for x in p]


def divergence(r: Sequence[mpf], R: Sequence[mpf], order: float) -> mpf:
    """D_order(r || R) for positive r and R."""
    pairs, a = list(zip(r, R, strict=True)), mpf(order)
    if a == 1:
        return fsum(p * log(p / q) for p, q in pairs)
    return log(fsum(p**a * q ** (1 - a) for p, q in pairs)) / (a - 1)


def projected_radius(share: float, radius: float, p: float, order: float) -> mpf:
    """k^-1(share k(radius) / p), see `ldpfrontier.uncertainty.renyi_ball`."""
    if order == 1:
        return mpf(share) * mpf(radius) / mpf(p)
    g = (mpf(order) - 1) / mpf(order)
    return log(1 + mpf(share) * expm1(g * mpf(radius)) / mpf(p)) / g


def least_mean(r: Sequence[float], q: Sequence[float], B: float, order: float) -> mpf:
    """Least R . q with D_order(r || R) <= B, for r > 0 and q with several values."""
    r, q = normalized(r), [mpf(x) for x in q]
    low = min(q)

    def tilted(tau: mpf) -> list[mpf]:
        weights = [p * (1 + exp(tau) * (x - low)) ** (-1 / mpf(order)) for p, x in zip(r, q, strict=True)]
        sum_ = fsum(weights)
        return [w / sum_ for w in weights]

    lo, hi = mpf(-200), mpf(1000)
    for _ in range(150):
        middle = (lo + hi) / 2
        lo, hi = (middle, hi) if divergence(r, tilted(middle), order) < B else (lo, middle)
    return fsum(w * x for w, x in zip(tilted(lo), q, strict=True))
