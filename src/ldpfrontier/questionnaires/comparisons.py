"""Errors of what the literature offers for several questions, to compare with at the uniform distribution."""

from __future__ import annotations

import math

from ldpfrontier.numerics.arguments import as_instance, as_number
from ldpfrontier.optimum import LEAST_EPSILON
from ldpfrontier.questionnaires.interactions import Questionnaire
from ldpfrontier.questionnaires.solve import MOST_EPSILON, optimal_questionnaire


def questionnaire_errors(questionnaire: Questionnaire, epsilon: float) -> dict[str, float]:
    """Return the errors of usual mechanisms, as `QuestionnaireOptimum.error` is one.

    Parameters
    ----------
    questionnaire : Questionnaire
    epsilon : float
        Nats.

    Returns
    -------
    dict
        By name; inf where a mechanism does not show all tables.

        ``"table by lot"``: each person is asked the questions of one table, which their share of the people
        makes best, and answers by the optimum for it; tables are estimated from their own people alone.
        ``"GRR"``: randomized response for all combinations (Kairouz et al. 2016).
        ``"RS+FD"``: one question by lot with randomized response, and random answers to all others (Arcolezi
        et al. 2021, *Random sampling plus fake data*), of which shares are estimated. They raise the level of
        the question to ln(1 + d (e^epsilon - 1)), which keeps epsilon for records that differ in one answer
        alone; this is at the level epsilon for all records.
        ``"parities"``: one interaction by lot, of which one bit is reported (Cormode, Kulkarni and Srivastava
        2018, *Marginal release under local differential privacy*), if all questions have two answers.
    """
    as_instance(questionnaire, Questionnaire, "The questionnaire")
    epsilon = as_number(
        epsilon, "epsilon", "a number from 0.001 to 20", least=LEAST_EPSILON, most=MOST_EPSILON
    )
    sizes, gain = questionnaire.sizes, math.expm1(epsilon)
    wanted = questionnaire.wanted
    by_size = dict[tuple[int, ...], float]()
    for table in questionnaire.tables:
        key = tuple(sorted(sizes[j] for j in table))
        if key not in by_size:
            by_size[key] = optimal_questionnaire(key, epsilon, len(key)).error
    roots = [math.sqrt(by_size[tuple(sorted(sizes[j] for j in table))]) for table in questionnaire.tables]
    told = (gain / (gain + questionnaire.combinations)) ** 2
    found = {"table by lot": sum(roots) ** 2, "GRR": sum(wanted.values()) / told}
    shares = [gain / (gain + size) / len(sizes) for size in sizes]
    single = all(len(table) == 1 for table in questionnaire.tables)
    found["RS+FD"] = (
        sum((1.0 - 1.0 / sizes[j]) / shares[j] ** 2 for (j,) in questionnaire.tables) if single else math.inf
    )
    found["parities"] = math.inf
    if set(sizes) == {2}:
        total = sum(math.sqrt(cost * questionnaire.sets_of(kinds)) for kinds, cost in wanted.items())
        found["parities"] = (total / math.tanh(0.5 * epsilon)) ** 2
    return found
