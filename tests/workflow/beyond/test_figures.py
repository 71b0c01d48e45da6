"""The figures of the optimum over F, and their colours."""

from __future__ import annotations

import numpy as np
import pandas as pd

from beyond import figures
from beyond.figures import UPPER_BOUND
from reproduction.results.tables import select
from support.mechanisms import measured


def test_a_bound_at_one_level_holds_at_all_lower_ones():
    """And beyond it the own bounds of the curve do, which are those of NR on large tables."""
    table = measured([[30, 10], [20, 40]], [0.5, 1.0, 2.0], instance="a, c", mechanisms=["nr", "ir"])
    nr = select(table, mechanism="nr")
    best = nr.assign(mechanism="exact", value=0.5 * nr["value"], bound=nr["value"])
    levels = sorted(best["epsilon"].unique())
    bound = 0.6 * float(best["bound"].min())
    setting = {name: best[name].iloc[0] for name in ("size", "instance", "beta", "order")}
    bounds = pd.DataFrame([{**setting, "epsilon": levels[1], "bound": bound, "nr": 1.0}])
    ax = figures.optimum(pd.concat([table, best]), bounds).axes[0]
    (line,) = [line for line in ax.lines if line.get_label() == UPPER_BOUND.label]
    x, y = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
    np.testing.assert_array_equal(y[x <= levels[1]], bound)
    own = select(best, metric="nmi").set_index("epsilon")["bound"]
    np.testing.assert_allclose(y[np.isin(x, levels[2:])], own.loc[levels[2:]])
    assert (y[x > levels[1]] > bound).all()


def test_a_weak_bound_is_said_to_be_weak():
    row = {"size": "2 x 2", "instance": "a, c", "beta": 0.05, "order": 2.0, "metric": "nmi", "note": ""}
    row |= {"mechanism": "exact", "status": "bounded", "value": 0.1, "bound": 0.15}
    best = pd.DataFrame([{**row, "epsilon": epsilon} for epsilon in (0.5, 1.0, 2.0)])
    bounds = best[:0]
    assert not [text for text in remarks(best, bounds) if text]
    (found,) = remarks(best.assign(bound=[0.4, 0.4, 0.15]), bounds)
    assert found.endswith("= 1: there up to 4 times the best found")
    # A bound at one level holds at all lower ones.
    assert not any(remarks(best.assign(bound=[0.4, 0.4, 0.15]), best[2:].assign(bound=0.16)))


def remarks(table: pd.DataFrame, bounds: pd.DataFrame) -> list[str]:
    return [text.get_text() for text in figures.optimum(table, bounds).axes[0].texts]


# The synthetic study
