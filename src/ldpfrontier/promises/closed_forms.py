"""What robust optima return where the time is up before a program is solved: the best closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ldpfrontier.base.types import FloatArray, Intractable
from ldpfrontier.model.channel import Channel
from ldpfrontier.model.mechanisms import randomized_response, secret_randomized_response
from ldpfrontier.model.optimum import Optimum, certified, fell_back, one_line
from ldpfrontier.model.utility import MutualInformation
from ldpfrontier.numerics.deadline import TimeIsUp, check_time
from ldpfrontier.promises.nonrobust import nonrobust_bound


def solved_in_time(
    solve: Callable[[], Optimum], check: Callable[[Channel], None], name: str
) -> Optimum | None:
    """Return an optimum whose mechanism passes a check, or None if the time is up.

    ArithmeticError is raised if rounding defeats the solver, which is called `name`: the arguments have been
    checked before.
    """
    try:
        check_time()
        with np.errstate(all="ignore"):
            optimum = solve()
        check(optimum.channel)
    except Intractable:
        raise
    except TimeIsUp as error:
        fell_back(f"{name} failed: {one_line(error)}")
        return None
    except (ArithmeticError, RuntimeError, ValueError) as error:
        raise ArithmeticError(
            f"{name} is not solved, as where cells differ by more than about 1e9, or radius or order are near"
            f" the ends of their ranges: {one_line(error)}."
        ) from error
    return optimum


def best_closed_form(
    centre: FloatArray, epsilon: float, start: Channel | None, tolerance: float, *, secret: bool
) -> Optimum:
    """Return the best of a start of the class and the closed forms, with the bound of NR.

    The level is in nats, above 0; `secret` says whether secret randomized response is in the class.
    """
    every = [randomized_response(centre.size, epsilon), *([] if start is None else [start])]
    if secret:
        every.append(secret_randomized_response(len(centre), centre.shape[1], epsilon))
    utility = MutualInformation(centre)
    best = max(every, key=utility)
    return certified(best, utility(best), nonrobust_bound(centre, epsilon), tolerance)
