"""NR with other couplings: the same mechanism otherwise."""

import numpy as np
import pytest

from ldpfrontier import mutual_information, optimal_nonrobust, rldp_epsilon
from support.programs import program

couplings = program("benchmarks/couplings.py")


@pytest.mark.parametrize("name", couplings.COUPLINGS)
def test_every_coupling_has_the_utility_and_the_level_of_nr(name):
    rng = np.random.default_rng(3)
    leaked = []
    for _ in range(5):
        joint, truth = rng.dirichlet(np.ones(8), 2).reshape(2, 2, 4)
        best = optimal_nonrobust(joint, 0.3)
        channel = couplings.coupled_nr(joint, 0.3, couplings.COUPLINGS[name])
        assert mutual_information(joint, channel) == pytest.approx(best.value, rel=1e-9)
        known, true = (P / P.sum(axis=1, keepdims=True) for P in (joint, truth))
        assert rldp_epsilon(channel, known) == pytest.approx(0.3, abs=1e-9)
        leaked.append((rldp_epsilon(channel, true), rldp_epsilon(best.channel, true)))
    same = [mine == pytest.approx(library, rel=1e-9) for mine, library in leaked]
    # Ours is the one in order, and another one leaks otherwise.
    assert all(same) if name == "in order" else not all(same)
