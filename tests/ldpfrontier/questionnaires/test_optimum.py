"""Mechanisms for questionnaires against other optimizers, enumeration, and what others offer."""

import functools
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from ldpfrontier import (
    Channel,
    Intractable,
    Questionnaire,
    estimation_error,
    ldp_epsilon,
    local_cone,
    optimal_estimation,
    optimal_questionnaire,
    questionnaire_errors,
    randomized_response,
    subset_selection,
)
from ldpfrontier.questionnaires.interactions import interactions_of
from ldpfrontier.questionnaires.optimum import _bound_of_all, _most_of_one
from ldpfrontier.questionnaires.sets import candidate_sets

SIZES = st.sampled_from([(2,), (3,), (2, 2), (2, 3), (3, 3), (2, 2, 2), (2, 2, 3)])


def target(questionnaire):
    """Return the rows of all entries of all tables, (entries, combinations)."""
    records = np.array(list(itertools.product(*map(range, questionnaire.sizes))))
    return np.array(
        [
            (records[:, list(table)] == entry).all(axis=1)
            for table in questionnaire.tables
            for entry in itertools.product(*(range(questionnaire.sizes[j]) for j in table))
        ],
        dtype=float,
    )


@pytest.mark.parametrize(
    ("sizes", "order", "epsilon", "error"),
    [
        # Found by column generation over listed staircase columns, by another program.
        *[((2,), 1, e, x) for e, x in [(0.5, 8.335), (1, 2.341), (1.5, 1.239), (3, 0.610)]],
        *[((2, 2), 1, e, 4 * x) for e, x in [(1, 2.341), (1.5, 1.154), (2, 0.661), (3, 0.366), (5, 0.264)]],
        *[((2, 2, 2), 1, e, 9 * x) for e, x in [(1.25, 1.626), (3, 0.336), (4, 0.220), (5, 0.185)]],
        *[((3, 3), 1, e, 4 * x) for e, x in [(0.5, 21.09), (1, 5.027), (3, 0.722), (5, 0.375)]],
        *[((2,) * 4, 1, e, 16 * x) for e, x in [(3, 0.3357), (4, 0.2108)]],
        *[((2, 3), 1, e, x) for e, x in [(0.5, 55.943), (1, 14.229), (2, 4.387), (3, 2.016)]],
        *[((2, 2, 3), 1, e, x) for e, x in [(0.5, 107.466), (1, 28.115), (2, 7.986), (3, 4.098)]],
        *[((2, 2, 2), 2, e, x) for e, x in [(1, 48.412), (2, 11.285)]],
        *[((2, 2, 2, 2), 2, e, x) for e, x in [(1, 154.25), (2, 35.50)]],
    ],
)
def test_errors_are_those_of_other_optimizers(sizes, order, epsilon, error):
    found = optimal_questionnaire(sizes, epsilon, order)
    assert found.error == pytest.approx(error, rel=3e-3)  # they are printed with three digits
    assert found.bound <= found.error <= 1.001 * found.bound


@settings(max_examples=25)
@given(SIZES, st.floats(0.1, 4.0), st.integers(1, 2), st.integers(0, 2**32 - 1))
def test_the_listed_channel_has_the_error_the_level_and_the_estimates(sizes, epsilon, order, seed):
    mechanism = optimal_questionnaire(sizes, epsilon, order).mechanism
    channel, questionnaire = mechanism.channel(), mechanism.questionnaire
    rows = target(questionnaire)
    uniform = np.full(math.prod(sizes), 1.0 / math.prod(sizes))
    assert estimation_error(channel, uniform, rows) == pytest.approx(mechanism.error, rel=1e-9)
    assert ldp_epsilon(channel) == pytest.approx(epsilon, abs=1e-9)
    # For any other distribution the error exists as well: all entries can be estimated.
    p = np.random.default_rng(seed).dirichlet(np.ones(uniform.size))
    assert estimation_error(channel, p, rows) < math.inf


@pytest.mark.parametrize("sizes", [(2, 3), (2, 2, 2), (3, 3)])
@pytest.mark.parametrize("epsilon", [0.7, 2.5])
@pytest.mark.parametrize("order", [1, 2])
def test_no_mechanism_has_less_error(sizes, epsilon, order):
    """Column generation over all staircase columns."""
    found = optimal_questionnaire(sizes, epsilon, order)
    cells = math.prod(sizes)
    other = optimal_estimation(
        np.full(cells, 1.0 / cells),
        local_cone(cells, epsilon),
        target(found.mechanism.questionnaire),
        tolerance=1e-4,
    )
    assert found.bound <= estimation_error(
        other.channel, np.full(cells, 1.0 / cells), target(found.mechanism.questionnaire)
    ) * (1 + 1e-9)
    assert other.bound <= found.error * (1 + 1e-9)


#: Layouts of one, two and many questions, and whether tables of one or two are wanted.
LAYOUTS = [
    (3, 3),
    (2, 2, 2),
    (3,) * 4,
    (2,) * 6,
    (5, 5, 4, 2, 2, 2, 3),
    (2,) * 20,
    (10, 4),
]


@pytest.mark.parametrize("sizes", LAYOUTS)
@pytest.mark.parametrize("order", [1, 2])
def test_nothing_that_others_offer_needs_fewer_people(sizes, order):
    for epsilon in (0.5, 1.0, 2.0, 3.0):
        found = optimal_questionnaire(sizes, epsilon, order)
        others = questionnaire_errors(found.mechanism.questionnaire, epsilon)
        # Some sets of a size stand for all of them, which subset selection has.
        assert found.bound <= min(found.error, *others.values())
        assert found.error <= min(others.values()) * 1.002
        if math.prod(sizes) <= 16:
            assert found.error <= 1.05 * found.bound
        elif order == 2 and epsilon <= 1.0:
            assert found.error <= 1.07 * found.bound


def generalized_least_squares(matrix, rows):
    """Return n MSE at uniform answers from the whole channel; inf where reports do not determine the rows."""
    information = (matrix / matrix.mean(axis=0)) @ matrix.T
    inverse = np.linalg.pinv(information, hermitian=True)
    if not np.allclose(rows @ inverse @ information, rows):
        return math.inf
    return np.trace(rows @ inverse @ rows.T) - (rows.mean(axis=1) ** 2).sum()


def sampled_with_fakes(sizes, level):
    """Return RS+FD: one question with randomized response, the others with random answers."""
    lots = []
    for asked in range(len(sizes)):
        parts = [
            randomized_response(size, level).matrix if j == asked else np.full((size, size), 1.0 / size)
            for j, size in enumerate(sizes)
        ]
        lots.append(functools.reduce(np.kron, parts))
    return np.mean(lots, axis=0)


@pytest.mark.parametrize("sizes", [(2, 2), (2, 3), (2, 2, 2), (2, 2, 3)])
@pytest.mark.parametrize("order", [1, 2])
def test_usual_mechanisms_have_their_best_unbiased_estimates_from_all_reports(sizes, order):
    """The whole channels are listed here, from what their authors say."""
    epsilon, cells = 1.0, math.prod(sizes)
    questionnaire = Questionnaire.of_order(sizes, order)
    rows, found = target(questionnaire), questionnaire_errors(questionnaire, epsilon)
    records = np.array(list(itertools.product(*map(range, sizes))))

    def lots_of(parts, shares):
        return generalized_least_squares(
            np.hstack([w * part for w, part in zip(shares, parts, strict=True)]), rows
        )

    unlike = [sum(sizes[j] for j in table) for table in questionnaire.tables]

    def by_lot(matrix_of):
        tables = []
        for table in questionnaire.tables:
            asked = [sizes[j] for j in table]
            tables.append(matrix_of(asked)[np.ravel_multi_index(records[:, list(table)].T, asked)])

        def with_share(share):  # of tables with the most answers, against the others
            weights = np.where(np.array(unlike) == max(unlike), share, 1.0 - share)
            return lots_of(tables, weights / weights.sum())

        return minimize_scalar(with_share, bounds=(0.05, 0.95), method="bounded").fun

    def bits(asked, own, other):
        cells = math.prod(asked)
        reports = np.array(list(itertools.product([0, 1], repeat=cells)))
        ones = np.where(np.eye(cells), own, other)[:, None, :]
        return np.where(reports, ones, 1.0 - ones).prod(axis=2)

    half = math.exp(0.5 * epsilon)
    several = []
    for number in range(order, len(sizes) + 1):
        parts = []
        for some in itertools.combinations(range(len(sizes)), number):
            asked = [sizes[j] for j in some]
            own = subset_selection(math.prod(asked), epsilon).matrix
            parts.append(own[np.ravel_multi_index(records[:, list(some)].T, asked)])
        several.append(lots_of(parts, np.full(len(parts), 1.0 / len(parts))))
    other = {
        "table by lot": by_lot(
            lambda asked: optimal_questionnaire(asked, epsilon, len(asked)).mechanism.channel().matrix
        ),
        "several by lot": min(several),
        "GRR by lot": by_lot(lambda asked: randomized_response(math.prod(asked), epsilon).matrix),
        "unary encoding by lot": by_lot(lambda asked: bits(asked, 0.5, 1.0 / (math.exp(epsilon) + 1.0))),
        "RAPPOR by lot": by_lot(lambda asked: bits(asked, half / (half + 1.0), 1.0 / (half + 1.0))),
        "GRR": generalized_least_squares(randomized_response(cells, epsilon).matrix, rows),
        "RS+FD[GRR]": generalized_least_squares(sampled_with_fakes(sizes, epsilon), rows),
        "parities": math.inf,
        "parities, best chances": math.inf,
    }
    if set(sizes) == {2}:
        signs, bit = 1.0 - 2.0 * records, 0.5 * math.tanh(0.5 * epsilon)
        sets = [T for n in range(1, order + 1) for T in itertools.combinations(range(len(sizes)), n)]
        parts = [0.5 + bit * np.outer(signs[:, list(some)].prod(axis=1), [1.0, -1.0]) for some in sets]
        other["parities"] = lots_of(parts, np.full(len(sets), 1.0 / len(sets)))
        singles = [len(some) == 1 for some in sets]

        def with_chance(chance):  # of single questions, against pairs
            weights = np.where(singles, chance, 1.0 - chance)
            return lots_of(parts, weights / weights.sum())

        other["parities, best chances"] = minimize_scalar(
            with_chance, bounds=(0.05, 0.95), method="bounded"
        ).fun
    assert found == pytest.approx(other, rel=1e-4)


def test_the_level_that_a_lot_is_said_to_amplify_is_not_that_of_the_whole_record():
    """RS+FD at the level ln(1 + d (e - 1)) of its question is private at 1 only if one answer differs.

    With unequal numbers of answers it is not even that.
    """
    amplified = math.log(1 + 2 * math.expm1(1.0))
    for sizes in [(2, 2), (2, 3)]:
        matrix = sampled_with_fakes(sizes, amplified)
        assert ldp_epsilon(Channel(matrix)) == pytest.approx(amplified)
        one = np.log(matrix[0] / matrix[1]).max()  # the last answer alone differs
        assert one == pytest.approx(1.0) if sizes == (2, 2) else one > 1.05


def test_asking_one_yes_or_no_question_is_optimal_up_to_the_level_ln_3():
    """Statement 13 (d): the bound is attained, for any number of them, and by two questions at ln 5."""
    for questions in (1, 2, 6, 20):
        for epsilon in (0.1, 0.7, math.log(3)):
            found = optimal_questionnaire([2] * questions, epsilon, 1)
            assert {len(lot.kinds) for lot in found.mechanism.lots} == {1}
            assert found.error == pytest.approx(found.bound, rel=1e-5)
        two = optimal_questionnaire([2] * max(questions, 2), math.log(5), 1)
        assert {int(lot.members.sum()) for lot in two.mechanism.lots} == {1}
        assert two.error == pytest.approx(two.bound, rel=1e-5)


@settings(max_examples=40)
@given(st.integers(1, 5), st.floats(0.05, 6.0), st.integers(0, 2**32 - 1))
def test_no_set_tells_more_than_the_bounds_say(questions, epsilon, seed):
    """Of random sets, thresholds of weighted sums, and subcubes, which tell most of single questions."""
    rng = np.random.default_rng(seed)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=questions)))
    gain = math.expm1(epsilon)
    sums = signs @ (rng.exponential(size=questions) ** 2)
    for inside in (
        rng.random(len(signs)) < rng.random(),
        sums > rng.choice(sums),
        (signs[:, : rng.integers(1, questions + 1)] > 0).all(axis=1),
    ):
        a = inside.mean()
        factor = (gain / (1.0 + gain * a)) ** 2
        single = sum((inside @ signs[:, j] / len(signs)) ** 2 for j in range(questions))
        assert single * factor <= _most_of_one(gain) * (1 + 1e-12)
        assert a * (1.0 - a) * factor <= gain**2 / (4.0 * math.exp(epsilon)) * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0, 4.0])
def test_the_bound_of_many_questions_holds_where_optima_are_known(epsilon):
    for sizes, order in itertools.product([(2, 2), (2, 2, 2), (2, 3), (2, 2, 2, 2)], [1, 2]):
        found = optimal_questionnaire(sizes, epsilon, order)
        assert _bound_of_all(found.mechanism.questionnaire, epsilon) <= found.error


@pytest.mark.parametrize("apart", [True, False])
def test_chosen_tables_lose_nothing_where_no_table_connects_questions(apart):
    """Questions of two tables are asked apart: the bound holds for all mechanisms, and is nearly reached."""
    tables = [(0, 1, 2), (3, 4)] if apart else [(0, 1), (1, 2), (2, 3), (3, 4)]
    found = optimal_questionnaire((2,) * 5, 1.0, tables=tables)
    questionnaire = found.mechanism.questionnaire
    asked = [lot.kinds for lot in found.mechanism.lots]
    assert all(len(kinds) < 3 or questionnaire.are_connected(kinds) for kinds in asked)
    assert questionnaire.are_connected((2, 3)) != apart
    assert found.bound <= found.error <= 1.03 * found.bound
    assert all(found.mechanism.shows(table) for table in tables)
    assert found.mechanism.error_of(tables) == pytest.approx(found.error)


@pytest.mark.parametrize("sizes", [(3,), (2, 3), (5, 4), (7, 2, 3), (36,)])
def test_energies_are_those_of_the_arrays(sizes):
    sets = candidate_sets(sizes)
    rng = np.random.default_rng(0)
    for number in rng.choice(len(sets.made), min(20, len(sets.made)), replace=False):
        array = sets.made[number]()
        assert array.shape == sizes
        assert array.mean() == pytest.approx(sets.shares[number])
        parts = interactions_of(array.astype(float))
        energies = [(parts[some] ** 2).mean() for some in sets.axes]
        np.testing.assert_allclose(energies, sets.energies[number], atol=1e-12)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_interactions_sum_to_the_function_and_do_not_overlap(seed):
    array = np.random.default_rng(seed).normal(size=(2, 3, 4))
    parts = interactions_of(array)
    full = [
        part.reshape([array.shape[j] if j in some else 1 for j in range(3)]) for some, part in parts.items()
    ]
    np.testing.assert_allclose(sum(np.broadcast_to(part, array.shape) for part in full), array)
    for one, other in itertools.combinations(full, 2):
        assert abs((one * other * np.ones(array.shape)).mean()) < 1e-12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([2, 1], 1.0), "from 2 to 36"),
        (([], 1.0), "There are 0 questions"),
        (([2] * 61, 1.0), "1 to 60 are possible"),
        (([2, 2], 21.0), "epsilon is 21"),
        (([2, 2], 1.0, 2, [(1, 0)]), "increasing order"),
        (([2] * 5, 1.0, 4), "1 to 3"),
        (([2] * 5, 1.0, 2, None, 1), "asked is 1; a table of 2 questions needs 2"),
    ],
)
def test_what_is_out_of_range_is_refused(arguments, words):
    *usual, asked = (*arguments, None) if len(arguments) < 5 else arguments
    with pytest.raises(ValueError, match=words):
        optimal_questionnaire(*usual, asked=asked)


def test_a_channel_that_is_too_large_is_refused():
    with pytest.raises(Intractable, match="combinations of answers"):
        optimal_questionnaire([2] * 20, 1.0).mechanism.channel()
