import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest

from ldpfrontier.base.priors import dirichlet, generator


def test_draws_are_distributions():
    drawn = dirichlet(1, "figure", 5, 0, count=7, concentration=0.5)
    assert drawn.shape == (7, 5)
    assert (drawn >= 0).all()
    assert drawn.sum(axis=1) == pytest.approx(np.ones(7))


def test_uniform_on_the_simplex():
    firsts = [dirichlet(3, "figure", 4, i)[0, 0] for i in range(2000)]
    assert kstest(firsts, "beta", (1, 3)).pvalue > 1e-3


@given(st.permutations(range(6)))
def test_an_instance_depends_on_nothing_but_its_name(order):
    one_by_one = {i: dirichlet(9, "figure", 6, i) for i in order}
    for i in range(6):
        assert np.array_equal(one_by_one[i], dirichlet(9, "figure", 6, i))


def test_every_part_of_the_name_counts():
    names = [(1, "a", 3, 0), (2, "a", 3, 0), (1, "b", 3, 0), (1, "a", 4, 0), (1, "a", 3, 1), (1, "a", 0, 3)]
    assert len({generator(*name).integers(2**62) for name in names}) == len(names)
    longer, shorter = dirichlet(1, "a", 3, 0, count=4), dirichlet(1, "a", 3, 0, count=2)
    assert np.array_equal(longer[:2], shorter)


def test_the_same_in_another_process():
    """The stream must not depend on Python's hash seed."""
    code = (
        "from ldpfrontier.base.priors import dirichlet; print(dirichlet(5, 'figure', 3, 2).tobytes().hex())"
    )
    environment = {"PYTHONHASHSEED": "12", "PYTHONPATH": ":".join(sys.path)}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == dirichlet(5, "figure", 3, 2).tobytes().hex()
