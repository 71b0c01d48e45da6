r"""By how much rounding can move a bound: the errors that every optimum under local privacy is raised by.

**Counting.** With u = 2^-53, n operations that each have a relative error of at most u leave a relative error
of at most gamma(n) = n u / (1 - n u) (Higham, Accuracy and Stability, Lemma 3.1). A sum of n terms, in any
order, is wrong by at most gamma(n - 1) sum |x_i|, and a scalar product by gamma(n) sum |x_i y_i|. So an error
is a number of operations times a sum of magnitudes, taken from the numbers of the evaluation itself.

**Functions.** exp, expm1, log and log1p are taken to be wrong by 2 u. phi(t) = (1 + t) log(1 + t) - t is a
series for |t| < 0.05. By its formula, each term is at most 41 phi(t) elsewhere, with three operations on
the first and one on the difference; a t that is itself wrong by 2 u counts 4: `EXCESS` operations. A
staircase column has the value m(p) = p phi(d) - phi(d p), p <= 1/2, d = e^eps - 1 or e^-eps - 1. Both terms
add up to at most 3 m(p) for |d| <= 1, and to at most 2 eps / log 2 times m(p) beyond, where phi has 8
operations or less: `column_value(eps)` operations.

**Priors.** A bound holds for the distribution p / sum(p), divided exactly. m is concave and 0 at both ends,
so a relative change of both p and 1 - p by delta changes m(p) by 2 delta at most, relatively, and with it the
information of every mechanism and the optimum. delta is |sum(p) - 1|, found without rounding.

**Values.** If all column values are right to a factor 1 + e, so are the utilities of all mechanisms, which
are sums of them with positive weights, and the optimum: the bound is raised by that factor.

**Duals.** The price of a column with entries 1 on T and e^-eps off it is e^-eps A + (1 - e^-eps) alpha(T),
A the sum of alpha. n operations on it do no more than duals alpha + gamma(n) |alpha| in the second term, of
which all columns of a mechanism pay at most 1 - e^-eps times the sum: so they raise a bound by gamma(n) (1
- e^-eps) sum |alpha|, whatever the probability of a column. The difference of A from the sum costs as much.

**Storage.** Entries of a channel are rounded to 3 u, so that it is private at eps + 6 u. No utility grows by
more than (2 / eps + 2) h, relatively, as eps does by a small h. `storage(eps)` allows for that as far as it
is below 1e-12; at smaller eps a channel as stored can have more than the bound, at its larger level.

**Weak duality.** A bound is sum(c) + kappa, where no column v has a reduced cost of more than kappa P . v.
Whatever is wrong in duals that a linear program has found is in kappa. The sum of n duals is wrong by
gamma(n) sum |c|; and where P adds up to S, the bound on the information under P / S is (sum(c) + kappa S) / S
+ log S. `sum_error` counts both, with twice |S - 1|.

**Tables of branch and bound.** A bound by Lagrangian relaxation is a maximum, over what a node contains, of
sums with multipliers x >= 0, which are exact as they are. If every number summed is rounded upwards by
gamma(n) times its own magnitude, n the operations on it in the data and on the way to the bound, so is the
bound: no maximum, and no choice of multipliers, can make it too low. Intervals are rounded outwards. That
costs some multiplications for every number, next to a logarithm or a power.

**Cuts.** A cut that is used to bound a cone of columns v >= 0 is weakened: by rounding of its coefficients
downwards, and by moving the distributions that it is made of into their ball.

**Which bounds have which error.** Derived, as above:

- those of `optimal_ldp` and `optimal_nonrobust`, and of `optimal_unconditional` where columns are listed;
- those with nodes over bodies at half budgets (`engines.over_set`: tables of a node
  in `workspace`, its first intervals in `branch_and_bound`, majorants in `majorant`, kappa in
  `affine_bounds`), at all deltas;
- those with nodes over joint columns (`engines.joint`: programs in `numerics.dual_simplex`, secants in
  `spatial_branch_and_bound`, cuts in `worst_pairs`). The share 1e-12 (`optimum.ROUNDING`) is added to them
  all the same.

Derived for the vertices as they are listed, with the share 1e-12 for the rounding of the vertices and of the
stored channel: those of PolyOpt, and of `optimal_unconditional` on larger tables, in
`engines.products.pricing_error`.

Not derived: bounds L of the simplex are taken as they are computed, as the data of PolyOpt and of joint
columns over the simplex. Mechanisms of `engines.projections.budget_multiplier` have no bound of their own:
vertices of bodies from Newton's method are candidates only, wherever they are used.
"""

from __future__ import annotations

import math

import numpy as np

from ldpfrontier.base.types import FloatArray

#: Half the distance of 1 to the next float.
UNIT_ROUNDOFF = 2.0**-53
#: Operations that the relative error of phi is worth.
EXCESS = 170


def gamma(operations: float) -> float:
    """Return the relative error that a number of operations can leave."""
    return operations * UNIT_ROUNDOFF / (1.0 - operations * UNIT_ROUNDOFF)


def column_value(epsilon: float) -> float:
    """Return the operations that the relative error of the value of a staircase column is worth."""
    return 3.0 * EXCESS + 24.0 * epsilon


def normalization(prior: FloatArray) -> float:
    """Return how far the sum of a prior is from 1, without rounding."""
    return abs(math.fsum([*prior.ravel().tolist(), -1.0]))


def sum_error(duals: FloatArray, kappa: float, prior: FloatArray) -> float:
    """Return by how much rounding can lower the bound sum(duals) + kappa of weak duality, kappa aside."""
    total, size = abs(float(duals.sum()) + kappa), float(np.abs(duals).sum()) + abs(kappa)
    return gamma(duals.size + 8) * size + 2.0 * normalization(prior) * (1.0 + total + abs(kappa))


def sum_bound(duals: FloatArray, kappa: float, prior: FloatArray) -> float:
    """Return the bound sum(duals) + kappa of weak duality, raised by its rounding; inf for no kappa.

    No column v has a reduced cost of more than kappa times prior . v.
    """
    return float(duals.sum()) + kappa + sum_error(duals, kappa, prior) if kappa < math.inf else math.inf


def storage(epsilon: float) -> float:
    """Return the relative utility that rounding of its entries can add to a channel, 1e-12 at most."""
    return min(6.0 * UNIT_ROUNDOFF * (2.0 / epsilon + 2.0), 1e-12)
