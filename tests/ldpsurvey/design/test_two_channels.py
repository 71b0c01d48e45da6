"""People who always give one answer, whose share two channels show."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import xlogy

from ldpsurvey import estimate_two_channels, table_of_values
from ldpsurvey.design.known_channels import classical_matrix, known_channel
from support.grids import few


def known(matrix, reports=()):
    values = [f"v{x}" for x in range(len(matrix))]
    return known_channel(table_of_values({"answer": values}, ["answer"]), np.asarray(matrix), reports)


def forced(yes):
    return known(classical_matrix("forced", {"yes": yes, "no": 0.0}, 2)[0], ("no", "yes"))


def shares(found):
    return [row.estimate for row in found.estimate.frequencies]


@pytest.mark.parametrize("yes", [(110, 320), (160, 420)])
def test_two_values_have_the_estimates_of_clark_and_desharnais(yes):
    """With p1 or p2 they are told to say yes; the others say the truth."""
    p, sizes = (0.25, 0.75), (500, 600)
    rates = np.divide(yes, sizes)
    ill = (p[1] * rates[0] - p[0] * rates[1]) / (p[1] - p[0])
    well = (rates[1] - rates[0]) / (p[1] - p[0])
    counts = tuple([n - k, k] for n, k in zip(sizes, yes, strict=True))
    found = estimate_two_channels((forced(p[0]), forced(p[1])), counts, "no")
    assert min(ill, well, 1 - ill - well) > 0
    assert shares(found) == pytest.approx([well, ill, 1 - ill - well], abs=1e-4)


#: Chances of being told to say yes and to say no, people who say yes, people; what RRuni of RRreg 0.7.6 (its
#: models CDM and CDMsym) returns: shares of yes and of those who always say no, and their standard errors.
RRREG = [
    ([(0.247778836242, 0), (0.738465552195, 0)], [61, 74], [175, 125],
     [0.2256489076, 0.2782533512], [0.0587570398, 0.0703447347]),
    ([(0.189304711856, 0.100605955953), (0.613381721731, 0.13315299633)], [261, 220], [642, 358],
     [0.3432456348, 0.1399739031], [0.0331818838, 0.0488703385]),
    ([(0.155905201053, 0), (0.679341038992, 0)], [38, 73], [186, 114],
     [0.0744237778, 0.0925232092], [0.0407544417, 0.0750316321]),
]  # fmt: skip


@pytest.mark.parametrize(("told", "yes", "people", "expected", "errors"), RRREG)
def test_shares_and_standard_errors_are_those_of_rrreg(told, yes, people, expected, errors):
    channels = [known([[1 - y, y], [n, 1 - n]], ("no", "yes")) for y, n in told]
    counts = tuple([n - k, k] for n, k in zip(people, yes, strict=True))
    found = estimate_two_channels(tuple(channels), counts, "no").estimate.frequencies[1:]
    assert [row.estimate for row in found] == pytest.approx(expected, abs=1e-8)
    # It divides by one person fewer.
    assert [row.error for row in found] == pytest.approx(errors, rel=0.5 / min(people) * 1.2)


@pytest.mark.parametrize("seed", few(range(4), range(4, 50)))
def test_estimates_and_the_test_are_those_of_an_own_likelihood(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 5))
    matrices = [
        np.eye(k) * a + (1 - a) * rng.dirichlet(np.full(k, 3.0)) for a in rng.uniform(0.2, 0.8, size=2)
    ]
    p = rng.dirichlet(np.ones(k + 1))
    rows = [np.vstack([matrix, np.eye(k)[0]]) for matrix in matrices]
    counts = [rng.multinomial(n, p @ row) for n, row in zip((700, 900), rows, strict=True)]

    def least(size):
        """Return minus the largest log-likelihood of the first values, and where it is, by softmax."""

        def minus(z):
            z = np.append(z, 0.0)
            q = np.exp(z - z.max())
            q /= q.sum()
            return -sum(
                xlogy(c, np.maximum(q @ row[:size], 1e-300)).sum()
                for c, row in zip(counts, rows, strict=True)
            )

        starts = [np.zeros(size - 1), *rng.normal(size=(3, size - 1))]
        best = min((minimize(minus, z, method="BFGS") for z in starts), key=lambda one: one.fun)
        q = np.exp(np.append(best.x, 0.0) - max(best.x.max(), 0.0))
        return float(best.fun), q / q.sum()

    names = [f"v{x}" for x in range(k)]
    found = estimate_two_channels(
        tuple(known(m, names) for m in matrices), tuple(counts), "v0", check_fit=False
    )
    value, own = least(k + 1)
    assert shares(found) == pytest.approx(own, abs=5e-3)
    gain = 2 * (least(k)[0] - value)
    assert (
        found.p_value == pytest.approx(0.5 * math.erfc(math.sqrt(max(gain, 0.0) / 2)), abs=0.01)
        or gain < 1e-3
    )


def test_intervals_of_the_share_cover_and_the_test_keeps_its_level():
    rng = np.random.default_rng(3)
    pair = forced(0.25), forced(0.75)
    matrices = [np.vstack([one.channel.matrix, [1.0, 0.0]]) for one in pair]
    for truth in ([0.7, 0.15, 0.15], [0.8, 0.2, 0.0]):
        covered, rejected, surveys = 0, 0, 60
        for _ in range(surveys):
            counts = tuple(rng.multinomial(400, np.array(truth) @ matrix) for matrix in matrices)
            found = estimate_two_channels(pair, counts, "no", check_fit=False)
            row = found.estimate.frequencies[-1]
            covered += row.low <= truth[2] <= row.high
            rejected += found.p_value < 0.05
        assert covered >= 0.9 * surveys
        assert truth[2] > 0.0 or rejected <= 0.12 * surveys


def test_two_channels_that_show_nothing_more_than_one_are_refused():
    with pytest.raises(ValueError, match="do not show how many people always say 'no'"):
        estimate_two_channels((forced(0.25), forced(0.25)), ([50, 50], [40, 60]), "no")
    with pytest.raises(ValueError, match="gives no report 'never'"):
        estimate_two_channels((forced(0.25), forced(0.5)), ([50, 50], [40, 60]), "never")
