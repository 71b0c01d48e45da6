"""docs/survey/own-promise.md is true: its files run, and promises are what their names say."""

import importlib.util
import math
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from ldpfrontier import (
    Channel,
    MutualInformation,
    PolyhedralCone,
    association_epsilon,
    conditional_epsilon,
    optimal_estimation,
    optimal_mechanism,
)

PAGE = (Path(__file__).parents[1] / "docs/survey/own-promise.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(?:python)?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
FILES = {named[1]: text for text in BLOCKS if (named := re.match(r"# (\w+)\.py\n", text))}


@pytest.fixture(scope="module")
def page(tmp_path_factory, long):
    """Write the files of the page into a folder, with fewer levels unless --long; return what imports one."""
    folder = tmp_path_factory.mktemp("page")
    for name, text in FILES.items():
        written = text if long else text.replace("np.linspace(0.1, 4.0, 79)", "np.linspace(0.1, 4.0, 14)")
        assert (written == text) == (long or name != "compare")
        (folder / f"{name}.py").write_text(written, encoding="utf-8")
    sys.path.insert(0, str(folder))

    def load(name):
        spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    sys.path.remove(str(folder))
    for name in FILES:
        sys.modules.pop(name, None)


def test_every_file_runs_and_the_figure_is_drawn(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert set(FILES) == {
        "notions", "compare", "draw", "both", "ball_of_priors", "chi_squared", "triangular", "side_channels",
    }  # fmt: skip
    for name in FILES:
        page(name)
    assert (tmp_path / "own_promises.png").stat().st_size > 10_000
    curves = {name: [x.value for x in curve] for name, curve in sys.modules["compare"].curves.items()}
    assert all((np.diff(curve) > -1e-9).all() for curve in curves.values())
    assert conditional_epsilon(sys.modules["both"].best.channel, (2, 2)) <= 1.0 + 1e-9
    weakest = np.min(list(curves.values()), axis=0)
    np.testing.assert_allclose(weakest, curves["local privacy"])


def test_the_sentence_is_the_one_of_the_library():
    (sentence,) = [" ".join(text.split()) for text in BLOCKS if text.startswith("Row 0")]
    with pytest.raises(ValueError, match=re.escape(sentence)):
        PolyhedralCone([[1.0, -0.5]])


def test_levels_of_the_five_notions(page):
    """Of the best mechanisms, from the definitions."""
    notions, prior, epsilon = page("notions"), np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1]), 0.8
    utility = MutualInformation(prior)

    def best(cone):
        Q = optimal_mechanism(utility, cone).channel.matrix
        return Q[:, Q.max(axis=0) > 1e-12]

    Q = best(notions.pointwise_maximal_leakage(prior, epsilon))
    assert np.log((Q / (prior @ Q)).max()) == pytest.approx(epsilon)
    Q = best(notions.metric(range(6), epsilon))
    steps = np.abs(np.log(Q[1:] / Q[:-1])).max()
    assert steps == pytest.approx(epsilon)
    Q = best(notions.block_structured([0, 0, 0, 1, 1, 1], epsilon))
    for rows in (Q[:3], Q[3:]):
        seen = rows.max(axis=0) > 0
        assert np.log(rows[:, seen].max(axis=0) / rows[:, seen].min(axis=0)).max() == pytest.approx(epsilon)
    Q = best(notions.label_privacy(2, 3, epsilon)).reshape(2, 3, -1)
    seen = Q.max(axis=0) > 0
    assert np.log(Q.max(axis=0)[seen] / Q.min(axis=0)[seen]).max() == pytest.approx(epsilon)
    Q = best(notions.utility_optimized(6, [0, 1, 2], epsilon))
    for column in Q.T:
        invertible = (column > 1e-12).sum() == 1 and column.argmax() > 2
        assert invertible or column[:3].max() <= math.exp(epsilon) * column.min() * (1 + 1e-9)


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_pointwise_maximal_leakage_at_small_levels_has_its_closed_form(page, share):
    prior = np.array([0.3, 0.2, 0.2, 0.1, 0.1, 0.1])
    epsilon = -share * math.log1p(-prior.min())
    Q = math.exp(epsilon) * np.tile(prior, (6, 1))
    np.fill_diagonal(Q, 0.0)
    np.fill_diagonal(Q, 1.0 - Q.sum(axis=1))
    utility = MutualInformation(prior)
    best = optimal_mechanism(utility, page("notions").pointwise_maximal_leakage(prior, epsilon))
    assert best.value == pytest.approx(utility(Channel(np.maximum(Q, 0.0))), rel=1e-6)


def test_what_attackers_learn_who_know_attributes(page):
    """From the definitions, with the probabilities of combinations that an attacker believes in."""
    module = page("side_channels")
    joint = module.joint.reshape(2, -1)

    def chances(best, beliefs):
        people = joint * np.ravel(beliefs)
        return np.einsum("su,suy->sy", people, best.channel.matrix.reshape(*joint.shape, -1)) / people.sum(
            axis=1, keepdims=True
        )

    def level(best, beliefs):
        return np.abs(np.diff(np.log(chances(best, beliefs)), axis=0)).max()

    cells = np.eye(4).reshape(4, 2, 2)
    attributes = [cells.sum(axis=0), *cells, cells[:2].sum(axis=0), cells[2:].sum(axis=0)]
    attributes += [cells[::2].sum(axis=0), cells[1::2].sum(axis=0)]
    pairs = [one + two for one in cells for two in cells]
    printed = {}
    for epsilon, best in module.resistant.items():
        for beliefs in attributes:
            given = chances(best, beliefs)
            people = (joint * np.ravel(beliefs)).sum(axis=1, keepdims=True)
            average = (people * given).sum(axis=0) / people.sum()
            assert np.abs(np.log(given / average)).max() <= epsilon + 1e-9
        printed[f"side-channel resistance, ε = {1 if epsilon == 1 else '1/2'}"] = best
    printed["acquaintances, ε = 1"] = module.acquaintances
    assert max(level(module.acquaintances, z) for z in [*attributes, *pairs]) <= 1.0 + 1e-9
    for name, best in printed.items():
        found = [float(x) for x in re.search(rf"^\| {name} \|(.*)\|$", PAGE, re.MULTILINE)[1].split("|")]
        of_all = association_epsilon(best.channel, module.population)
        seen = [best.value, *(max(level(best, z) for z in every) for every in (attributes, pairs)), of_all]
        # Optima are not unique, and the one for acquaintances is near its bound.
        assert found == pytest.approx(seen, abs=0.02)


def test_a_cone_with_infinitely_many_inequalities(page):
    """The promise holds for priors all over the ball, and inequalities of many of them bound the optimum."""
    module, rng = page("ball_of_priors"), np.random.default_rng(3)
    best, c, epsilon = module.best, module.prior, module.cone.epsilon
    directions = rng.normal(size=(300, 6)) * np.sqrt(c)
    directions -= np.outer(directions.sum(axis=1), c)
    sizes = np.sqrt(module.cone.radius / (directions**2 / c).sum(axis=1, keepdims=True))
    used = best.channel.matrix[:, best.channel.matrix.max(axis=0) > 1e-9].T
    worst = module.cone.worst_priors(used)
    priors = np.vstack([c + sizes * directions, worst])
    assert (priors >= 0).all()
    np.testing.assert_allclose(priors.sum(axis=1), 1.0)
    np.testing.assert_allclose(((worst - c) ** 2 / c).sum(axis=1), module.cone.radius)
    levels = np.log(used.max(axis=1) / (priors @ used.T))
    assert levels.max() == pytest.approx(epsilon, abs=1e-9)
    rows = (np.eye(6) - math.exp(epsilon) * worst[:, None]).reshape(-1, 6)
    larger = optimal_mechanism(MutualInformation(c), PolyhedralCone(rows))
    assert best.value * (1 - 1e-9) <= larger.bound
    assert best.value < optimal_mechanism(MutualInformation(c), PolyhedralCone(rows[:0])).value


def test_methods_of_a_cone_that_contradict_each_other_are_noticed(page):
    module = page("ball_of_priors")

    class Careless(module.BallOfPriors):
        """Columns are not moved into the cone."""

        def pull(self, columns):
            return columns, super().pull(columns)[1]

    utility = MutualInformation(module.prior)
    with pytest.raises(ArithmeticError, match="the methods of the cone contradict each other"):
        optimal_mechanism(utility, Careless(module.prior, 0.02, 1.0))
    with pytest.raises(ArithmeticError, match="the methods of the cone contradict each other"):
        optimal_estimation(module.prior, Careless(module.prior, 0.02, 1.0))


@pytest.mark.parametrize("factor", [1e-9, 30.0])
def test_a_wrong_slack_of_the_constant_column_leaves_the_bound_valid(page, factor):
    module = page("ball_of_priors")

    class Wrong(module.BallOfPriors):
        @property
        def least_constant_slack(self):
            return factor * super().least_constant_slack

    found = optimal_mechanism(MutualInformation(module.prior), Wrong(module.prior, 0.02, 1.0))
    assert found.bound >= module.best.value * (1 - 1e-9)
    assert found.value <= module.best.bound * (1 + 1e-9)
