r"""Radii of confidence sets {P : D_order(P-hat || P) <= B}, for many samples or for any number of them.

**Asymptotic.** The power-divergence statistic of Cressie and Read, 2 n / (alpha (alpha - 1)) times
(sum P-hat^alpha P^(1-alpha) - 1), tends to chi-squared with k - 1 degrees of freedom for every order, hence
B = log(1 + alpha (alpha - 1) c / (2 n)) / (alpha - 1), c the 1 - beta quantile. Order 2 gives log(1 + c/n),
as printed (lopuhaa2024, sections 3 and 8); order 1 the limit c / (2 n); every order B ~ alpha c / (2 n). For
an order below 1 and few samples no P can be excluded, and B = inf. Of a complex sample, n is for how many
simple random samples it counts, and c is k - 1 times the quantile of F if that number is estimated (Rao and
Scott 1981).

**Finite samples.** For every P on k letters and every n:

- P(n D_1(P-hat || P) >= t) <= e^-t (e t / (k - 1))^(k - 1) for t >= k - 1 (Agrawal 2020, "Finite-sample
  concentration of the multinomial in relative entropy", Theorem 1.2). D_alpha increases with alpha, so that
  the radius t / n, at which the right-hand side is beta, holds for every order up to 1.
- Pearson's statistic has the mean E sum (P-hat - P)^2 / P = (k' - 1) / n, k' <= k the letters that occur.
  By Markov's inequality it is above (k - 1) / (n beta) with probability beta at most. As D_alpha <= D_2 =
  log(1 + that statistic) for alpha <= 2, the radius log(1 + (k - 1) / (n beta)) holds for orders up to 2.

Above order 2 the divergence has no such bound: letters of small probability make it large.
"""

from __future__ import annotations

import math

from scipy.special import chdtri, fdtri, lambertw

#: By how much a finite-sample radius is raised for its rounding, as a share of it.
_ROUNDING = 1e-12


def asymptotic_radius(
    samples: float, letters: int, beta: float, order: float, freedom: float | None = None
) -> float:
    """Return the radius in nats whose set has the level 1 - beta in the limit of many samples.

    With `freedom`, the covariance that `samples` stand for was estimated with so many degrees of freedom.
    """
    quantile = chi_squared_quantile(letters - 1, beta, freedom) if letters > 1 else 0.0
    if order == 1:
        return quantile / (2.0 * samples)
    x = order * (order - 1.0) * quantile / (2.0 * samples)
    return math.log1p(x) / (order - 1.0) if x > -1.0 else math.inf


def chi_squared_quantile(letters: float, beta: float, freedom: float | None = None) -> float:
    """Return the 1 - beta quantile of chi-squared, or of so many times F if a variance was estimated."""
    if freedom is None:
        return float(chdtri(letters, beta))
    return letters * float(fdtri(letters, freedom, 1.0 - beta))


def finite_radius(samples: float, letters: int, beta: float, order: float) -> float:
    """Return a radius in nats whose set has at least the level 1 - beta, for every number of samples."""
    if letters == 1:
        return 0.0
    if order > 2.0:
        raise ValueError(
            f'The order is {order:g}; the method "finite" has a radius for orders up to 2, as above that'
            " letters of small probability make the divergence large."
        )
    freedom = letters - 1.0
    if order <= 1.0:
        # e^-t (e t / m)^m = beta at t = m x, where x e^-x = e^(log(beta) / m - 1).
        t = -freedom * float(lambertw(-math.exp(math.log(beta) / freedom - 1.0), -1).real)
        return t / samples * (1.0 + _ROUNDING)
    return math.log1p(freedom / (samples * beta)) * (1.0 + _ROUNDING)
