"""Errors of what the literature offers for several questions, to compare with at the uniform distribution.

Each of these mechanisms treats the answers of a question alike. So it tells m_T of each interaction T, as
those of `sets` do, and the best linear unbiased estimates of all tables from its reports together have the
error sum_T c_T / m_T (docs/beyond/theorems.md, statement 13).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, partial

import numpy as np
from scipy.stats import binom

from ldpfrontier.base.types import FloatArray
from ldpfrontier.model.optimum import LEAST_EPSILON
from ldpfrontier.numerics.arguments import as_instance, as_number
from ldpfrontier.questionnaires.interactions import Kinds, Questionnaire, Questions
from ldpfrontier.questionnaires.optimum import MOST_EPSILON, optimal_questionnaire
from ldpfrontier.questionnaires.settings import SETTINGS

#: Relative gap at which the shares of tables by lot are good enough, and a limit against a stall.
_GAP, _ROUNDS = 1e-5, 10_000

#: Kinds of sets of more than four questions up to which these are asked by lot.
_MULTISETS = 5_000


def questionnaire_errors(questionnaire: Questionnaire, epsilon: float) -> dict[str, float]:
    """Return the errors of usual mechanisms, as `QuestionnaireOptimum.error` is one.

    All have the level epsilon for the whole record, and their best linear unbiased estimates: every table is
    estimated from all reports that tell something about it.

    Parameters
    ----------
    questionnaire : Questionnaire
    epsilon : float
        Nats.

    Returns
    -------
    dict
        By name; inf where a mechanism does not show all tables.

        ``"table by lot"``: each person is asked the questions of one table, and answers by the optimum for
        it; the shares of the people that the tables have are the best ones.
        ``"several by lot"``: each person is asked some questions, of the number that makes the error least,
        all choices equally likely, and answers by subset selection among their combinations. Zhang et al.
        (2018, *CALM*) ask so, with other mechanisms for the combinations, which tell no more.
        ``"GRR by lot"``, ``"unary encoding by lot"``, ``"RAPPOR by lot"``: as ``"table by lot"``, with
        randomized response for the combinations of answers, or with a bit for each of these. Of own and other
        bits that are reported as 1, unary encoding has the shares 1/2 and 1 / (e^epsilon + 1) (Wang et al.
        2017, *Locally differentially private protocols for frequency estimation*), and the basic RAPPOR
        e^(epsilon/2) / (e^(epsilon/2) + 1) and 1 less that (Erlingsson, Pihur and Korolova 2014).
        ``"GRR"``: randomized response for all combinations (Kairouz et al. 2016).
        ``"RS+FD[GRR]"``: one question by lot with randomized response, and random answers to all others
        (Arcolezi et al. 2021, *Random sampling plus fake data*). Reports tell shares alone. Its authors raise
        the level of the question to ln(1 + d (e^epsilon - 1)). If all d questions have equally many answers,
        this keeps epsilon for records that differ in one answer, and for no others.
        ``"parities"``: one interaction by lot, all equally likely, of which one bit is reported (Cormode,
        Kulkarni and Srivastava 2018, *Marginal release under local differential privacy*), if all questions
        have two answers.
        ``"parities, best chances"``: the same with the chances that make the error least.
    """
    as_instance(questionnaire, Questionnaire, "The questionnaire")
    epsilon = as_number(
        epsilon, "epsilon", "a number from 0.001 to 20", least=LEAST_EPSILON, most=MOST_EPSILON
    )
    wanted, gain = questionnaire.wanted, math.expm1(epsilon)

    def alike(told: Callable[[int], float]) -> Callable[[tuple[int, ...]], dict[Questions, float]]:
        """Return m_T by the sizes of a table, of a mechanism whose m_T is the same for all T."""
        return lambda sizes: dict.fromkeys(_subsets(len(sizes)), told(math.prod(sizes)))

    told = {
        "table by lot": _by_lot(questionnaire, partial(_by_optimum, epsilon=epsilon)),
        "GRR by lot": _by_lot(questionnaire, alike(lambda cells: (gain / (gain + cells)) ** 2)),
        "unary encoding by lot": _by_lot(questionnaire, alike(partial(_by_bits, epsilon=epsilon, own=0.5))),
        "RAPPOR by lot": _by_lot(questionnaire, alike(partial(_by_bits, epsilon=epsilon))),
        "GRR": dict.fromkeys(wanted, (gain / (gain + questionnaire.combinations)) ** 2),
        "RS+FD[GRR]": _sampled_with_fakes(questionnaire, gain),
        **_parities(questionnaire, epsilon),
    }
    errors = {name: _error(wanted, some) for name, some in told.items()}
    several = min(_error(wanted, some) for some in _several_by_lot(questionnaire, gain))
    return {"table by lot": errors.pop("table by lot"), "several by lot": several, **errors}


def _error(wanted: Mapping[Kinds, float], told: Mapping[Kinds, float]) -> float:
    """Return n MSE of the best linear unbiased estimates from m_T by the kinds of T, 0 for those left out."""
    if any(not told.get(kinds) for kinds in wanted):
        return math.inf
    return float(sum(cost / told[kinds] for kinds, cost in wanted.items()))


def _by_lot(
    questionnaire: Questionnaire, told_of: Callable[[tuple[int, ...]], Mapping[Questions, float]]
) -> dict[Kinds, float]:
    """Return what is told by asking the questions of one table, with the best shares of the tables.

    `told_of` returns what is told of the interactions of questions that have so many answers.
    """
    place = {kinds: i for i, kinds in enumerate(questionnaire.wanted)}
    rows = list[FloatArray]()
    for kinds in sorted(
        {tuple(sorted(questionnaire.kinds[j] for j in table)) for table in questionnaire.tables}
    ):
        row = np.zeros(len(place))
        for some, told in told_of(questionnaire.sizes_of(kinds)).items():
            part = tuple(sorted(kinds[j] for j in some))
            row[place[part]] += told / questionnaire.sets_of(part)
        rows.append(row)
    return dict(zip(place, _best_shares(np.array(rows), questionnaire), strict=True))


@lru_cache(maxsize=1_000)
def _by_optimum(sizes: tuple[int, ...], epsilon: float) -> Mapping[Questions, float]:
    """Return what the optimum for one table tells of its interactions."""
    mechanism = optimal_questionnaire(sizes, epsilon, len(sizes)).mechanism
    own = mechanism.questionnaire.kinds
    return {some: mechanism.told[tuple(sorted(own[j] for j in some))] for some in _subsets(len(sizes))}


def _by_bits(inputs: int, epsilon: float, own: float | None = None) -> float:
    """Return m_T of a mechanism that reports a bit for each input, the same for every interaction T.

    The bit of the own input is 1 with the chance `own`, by default such that ones and zeros are alike. The
    reports with w ones are those of subset selection of w inputs.
    """
    own = 1.0 / (1.0 + math.exp(-0.5 * epsilon)) if own is None else own
    odds = own / (1.0 - own) * math.exp(-epsilon)
    other, rest, gain = odds / (1.0 + odds), inputs - 1, math.expm1(epsilon)
    ones = np.arange(inputs + 1)
    chance = own * binom.pmf(ones - 1, rest, other) + (1.0 - own) * binom.pmf(ones, rest, other)
    a = ones / inputs
    return float(chance @ ((gain / (1.0 + gain * a)) ** 2 * a * (1.0 - a)) / rest)


def _subsets(number: int) -> list[Questions]:
    """Return all sets of these questions but the empty one."""
    orders = (itertools.combinations(range(number), order) for order in range(1, number + 1))
    return list(itertools.chain.from_iterable(orders))


def _best_shares(columns: FloatArray, questionnaire: Questionnaire) -> FloatArray:
    """Return what is told with the best weights of columns (`optimum`), by multiplicative steps.

    For sum_T c_T / m_T each step w_j <- w_j (lam . m_j / sum_T c_T / m_T)^(1/2), lam_T = c_T / m_T^2, is no
    step up (Torsney 1983, *A moment inequality and monotonicity of an algorithm*).
    """
    c = np.array(list(questionnaire.wanted.values()))
    weights = np.full(len(columns), 1.0 / len(columns))
    for _ in range(_ROUNDS):
        m = weights @ columns
        worth, value = columns @ (c / m**2), float((c / m).sum())
        if worth.max() <= value * (1.0 + _GAP):
            break
        weights *= np.sqrt(worth / value)
        weights /= weights.sum()
    return np.asarray(weights @ columns)


def _several_by_lot(questionnaire: Questionnaire, gain: float) -> Iterator[dict[Kinds, float]]:
    """Yield what is told by subset selection among all combinations of some questions, by their number."""
    members, questions = questionnaire.members, len(questionnaire.sizes)
    for number in range(max(map(len, questionnaire.tables)), questions + 1):
        if number > SETTINGS.asked_together and math.comb(len(members) + number, number) > _MULTISETS:
            return
        told = dict[Kinds, float]()
        for kinds in questionnaire.wanted:
            own, cells = Counter(kinds), math.prod(questionnaire.sizes_of(kinds))
            sums = 0.0
            for more in itertools.combinations_with_replacement(range(len(members)), number - len(kinds)):
                ways = math.prod(math.comb(len(members[k]) - own[k], n) for k, n in Counter(more).items())
                sums += ways * _by_subsets(cells * math.prod(questionnaire.sizes_of(more)), gain)
            told[kinds] = sums / math.comb(questions, number)
        yield told


@lru_cache(maxsize=100_000)
def _by_subsets(inputs: int, gain: float) -> float:
    """Return what subset selection of the best size tells of every interaction of its inputs."""
    best = inputs / (2.0 + gain)
    shares = [max(near(best), 1) / inputs for near in (math.floor, math.ceil)]
    return max((gain / (1.0 + gain * a)) ** 2 * a * (1.0 - a) for a in shares) / (inputs - 1)


def _sampled_with_fakes(questionnaire: Questionnaire, gain: float) -> dict[Kinds, float]:
    """Return what RS+FD tells: the channel is P_0 + sum_j r_j P_j / d, r_j that of randomized response."""
    number = len(questionnaire.sizes)
    return {
        kinds: (gain / (gain + questionnaire.sizes_of(kinds)[0]) / number) ** 2
        for kinds in questionnaire.wanted
        if len(kinds) == 1
    }


def _parities(questionnaire: Questionnaire, epsilon: float) -> dict[str, dict[Kinds, float]]:
    """Return what one bit about one interaction tells, with equal chances of these and with the best ones."""
    names = ("parities", "parities, best chances")
    if set(questionnaire.sizes) != {2}:
        return {name: {} for name in names}
    bit = math.tanh(0.5 * epsilon) ** 2
    number = {kinds: questionnaire.sets_of(kinds) for kinds in questionnaire.wanted}
    # The best weight of each of the n_T interactions that share c_T is in proportion to (c_T / n_T)^(1/2).
    roots = {kinds: math.sqrt(cost / number[kinds]) for kinds, cost in questionnaire.wanted.items()}
    weighed = sum(root * number[kinds] for kinds, root in roots.items())
    equal = dict.fromkeys(number, bit / sum(number.values()))
    return dict(
        zip(names, (equal, {kinds: bit * root / weighed for kinds, root in roots.items()}), strict=True)
    )
