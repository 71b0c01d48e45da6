import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldpfrontier.base.types import Intractable
from ldpfrontier.numerics.subset_sums import balanced_set, subset_sums

seeds = st.integers(0, 2**32 - 1)


def test_subset_sums() -> None:
    terms = np.array([1.0, 10.0, 100.0])
    expected = [sum(t for j, t in enumerate(terms) if i >> j & 1) for i in range(8)]
    np.testing.assert_array_equal(subset_sums(terms), expected)


@given(seeds, st.integers(1, 12), st.sampled_from([0.1, 1.0, 10.0]))
@settings(deadline=None)
def test_balanced_set_against_all_subsets(seed, k, concentration):
    p = np.random.default_rng(seed).dirichlet(np.full(k, concentration))
    inside = balanced_set(p)
    subsets = np.array(list(itertools.product([0, 1], repeat=k)))
    assert abs(p[inside].sum() - 0.5) <= np.abs(subsets @ p - 0.5).min() + 1e-15


def test_balanced_set_solves_hard_number_partitions():
    rng = np.random.default_rng(0)
    half = rng.integers(1, 2**30, 19).astype(float)
    twin = rng.permutation(half)  # so that a perfect partition exists
    p = np.concatenate([half, twin, [0.0]])
    inside = balanced_set(p / p.sum())
    assert p[inside].sum() == p[~inside].sum()


@pytest.mark.parametrize("k", [41, 60, 1000])
def test_of_many_inputs_a_set_is_found_that_is_as_good_as_half(k):
    p = np.append(np.random.default_rng(k).dirichlet(np.ones(k)), 0.0)
    inside = balanced_set(p)
    assert abs(p[inside].sum() - 0.5) <= 1e-9
    assert not inside[-1]


def test_many_equal_inputs_have_no_half():
    with pytest.raises(
        Intractable, match=r"41 inputs .* 0\.01 from probability 1/2; .* must be within 1e-09"
    ):
        balanced_set(np.full(41, 1 / 41))
