"""Certificates at their own duals: no private column has a larger reduced cost than they prove.

The bound of a class is sum(c) + kappa at some duals c, and much of its distance to the best mechanism is that
of the duals. Here kappa alone is attacked, which leaves a certificate no room but its slack: columns with a
large (mu(v) - c . v) / Z are searched for as `oracles.column_search` does, from columns of the library, and
from structured and random ones. All certificates of all passes are looked at, with ``--long`` of many tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pytest

from attack.bounds import Instance, random_instance, solved
from ldpfrontier.optimal.large.over_set import dual_certificate
from ldpfrontier.optimal.large.over_set.dual_certificate import Certificate
from oracles.column_search import (
    Cone,
    Ends,
    ascend,
    ends_of_columns,
    information,
    random_ends,
    sharpened,
    structured,
)
from oracles.renyi_duality import radius_of_cost

#: By how much kappa may be exceeded, relative to the bound.
ROUNDING = 1e-9


@dataclass
class Proof:
    """What a certificate says, and columns that are known to the library."""

    duals: np.ndarray  # (a1, a2)
    kappa: float
    epsilon: float
    distinct: bool
    radii: np.ndarray | None
    columns: np.ndarray  # (m, a1, a2)
    certificate: Certificate  # kept, so that no other one gets its id


@pytest.fixture
def proofs(monkeypatch):
    """Return a list that every certificate is added to, with the last kappa that it has proved."""
    found = {}

    class Recorded(Certificate):
        def bound(self, max_nodes):
            kappa = super().bound(max_nodes)
            family = self.family
            columns = family.price(self.duals.ravel(), 0)[1].vectors.reshape(-1, *self.duals.shape)
            found[id(self)] = Proof(
                self.duals.copy(), kappa, family.epsilon, family.distinct, family.radii, columns, self
            )
            return kappa

    monkeypatch.setattr(dual_certificate, "Certificate", Recorded)
    return found


def joined(*ends: Ends) -> Ends:
    return Ends(*(np.concatenate(x) for x in zip(*(vars(own).values() for own in ends), strict=True)))


def largest_reduced_cost(
    proof: Proof, instance: Instance, rng: np.random.Generator, starts: int, steps: int
) -> float:
    """The largest (mu(v) - c . v) / Z of the private columns that are found."""
    ball = instance.ball
    cone = Cone(np.array(ball.centre), ball.radius, ball.order, proof.epsilon, proof.distinct)
    if proof.radii is None:
        cone.radii = radius_of_cost(cone.budget / cone.p, cone.order)
    else:  # of balls in the place of the projections
        cone.radii = proof.radii
    known, other = proof.columns[:starts], structured(cone, rng, starts)
    if len(known):
        # Some are mixed out of the blocks of good ones.
        mix = known[rng.integers(0, len(known), (starts, len(cone.p))), np.arange(len(cone.p))]
        other = np.where(rng.random((starts, 1, 1)) < 0.4, mix, other)
    own, near = ends_of_columns(cone, known) if len(known) else (random_ends(cone, rng, 0), known)
    V, ends = np.concatenate([near, other]), joined(own, random_ends(cone, rng, starts))

    def reduced(V: np.ndarray) -> float:
        """The largest reduced cost of columns, per unit of Z = 1."""
        return float((information(cone.P, V) - np.einsum("su,nsu->n", proof.duals, V)).max())

    best = reduced(cone.moved(np.concatenate([proof.columns, V])))
    for _ in range(2):
        # A ratio is maximized by its numerator less the best ratio times its denominator.
        V = ascend(cone, V, ends, proof.duals + best * cone.P, steps)
        best = max(best, reduced(cone.moved(np.concatenate([V, sharpened(V)]))))
    return best


def attack(instance: Instance, proofs: dict, starts: int, steps: int) -> tuple[list[float], float]:
    """Largest reduced costs less kappa, relative to the bound, of all certificates; and the bound."""
    proofs.clear()
    _, bound = solved(instance)
    rng, excess = np.random.default_rng([35, instance.number]), []
    for proof in proofs.values():
        reduced = largest_reduced_cost(proof, instance, rng, starts, steps)
        excess.append((reduced - proof.kappa) / abs(proof.duals.sum()))
    return excess, bound


def test_no_column_has_a_larger_reduced_cost_than_a_certificate_proves(long, proofs, capsys):
    numbers = range(150) if long else (0, 1)
    worst, least = -math.inf, []
    for number in numbers:
        instance = random_instance(number, 36 if long else 20)
        # With many nodes certificates close, and the slack that they leave is small.
        instance.max_nodes = 20_000 if long else 1_000
        excess, _ = attack(instance, proofs, *((40, 5) if long else (6, 3)))
        assert max(excess, default=-math.inf) <= ROUNDING, (number, excess)
        least.append(max(excess, default=-math.inf))
        worst = max(worst, least[-1])
        if long:
            with capsys.disabled():
                print(
                    f"{number}: {instance.ball.centre.shape}, order {instance.ball.order}, epsilon"
                    f" {instance.epsilon:.2g}, {instance.envelope}, {instance.pairs}: {len(excess)}"
                    f" certificates, largest excess {least[-1]:.2e}",
                    flush=True,
                )
    # The search comes near to what is proved.
    assert worst > -0.1


def test_columns_found_come_within_5_percent_of_what_a_certificate_proves(proofs):
    """A certificate that proved much too little would be noticed by the search."""
    instance = random_instance(0, 20)
    instance.max_nodes = 20_000
    attack(instance, proofs, 4, 2)
    proof = list(proofs.values())[-1]
    rng = np.random.default_rng(0)
    reduced = largest_reduced_cost(proof, instance, rng, 16, 4)
    assert proof.kappa - 0.05 * proof.duals.sum() < reduced <= proof.kappa
