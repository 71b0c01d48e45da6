"""Malformed arguments of the public functions: refused with a sentence of this package, or answered."""

import inspect
import math
import traceback
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import ldpfrontier as l
from support.calls import NAMES, bound, good_calls


class Strange:
    """Something that is no number and no sequence, and says nothing of use about itself."""

    __array__ = None


#: In the place of any argument.
HOSTILE = {
    "None": None,
    "True": True,
    "a text": "abc",
    "NaN": float("nan"),
    "inf": float("inf"),
    "-1": -1,
    "1e308": 1e308,
    "10^400": 10**400,
    "a fraction": Fraction(10**400, 3),
    "a complex number": 1 + 2j,
    "an empty list": [],
    "a list of None": [None],
    "rows of different lengths": [[0.5], [0.25, 0.25]],
    "NaN in an array": np.array([[np.nan, 1.0], [0.5, 0.5]]),
    "an array of truth values": np.eye(2, dtype=bool),
    "an array of objects": np.array([object(), object()], dtype=object),
    "a masked array": np.ma.masked_array([0.5, 0.5], mask=[False, True]),
    "four dimensions": np.full((1, 2, 1, 2), 0.25),
    "no rows": np.zeros((0, 3)),
    "a set": {0.5},
    "a dictionary": {"a": 0.5},
    "a generator": iter([0.5, 0.5]),
    "a function": len,
    "a strange object": Strange(),
    "a table of texts": pd.DataFrame({"a": ["x", "y"]}),
    "pandas.NA": pd.NA,
}


#: Out of the range of every number that has one; and what else is out of the range of an argument.
NEVER = ["1", math.nan, -math.inf, -1.0, -(10**400), Fraction(-1, 3), True, 1j, [1.0], pd.Series([3.0])]
WHOLE = ["9", -1, 1.5, math.nan, True, [1]]
REFUSED = {
    "epsilon": [*NEVER, math.inf, 300.5, 1e300],
    "tolerance": ["1", math.nan, -math.inf, -1.0, True, [1.0]],
    "tol": ["1", math.nan, -math.inf, -1.0, True, [1.0]],
    "most": [*NEVER, math.inf],
    "distortion": [*NEVER, math.inf, 0.0, 1e-12, 1.0, 2.0],
    "leakage": [math.nan, -math.inf, -1.0],
    "delta": [*NEVER, math.inf, 1.5],
    "beta": [*NEVER, 0.0, 1.0, 2.0],
    "order": [*NEVER, math.inf, 0.0, 1000.0],
    "radius": NEVER,
    "max_seconds": NEVER,
    **{size: [*WHOLE, 0] for size in ("k", "a1", "a2")},
    **dict.fromkeys(("max_rounds", "max_nodes", "size"), WHOLE),
}

#: What measures a channel has an answer at levels that no mechanism is made for.
WIDER = {("least_delta", "epsilon"): ("inf", "300.5", "1e+300")}


#: Of these any value is taken, and called or asked whether it is true.
HOOKS = {"progress", "sampler", "simultaneous"}


@pytest.fixture(scope="module")
def good():
    return good_calls()


def test_every_public_name_is_attacked(good):
    assert set(NAMES) == set(good)


def allowed(function, argument, value):
    """Tell whether an argument may have a value: its default, or a function that fails by itself."""
    if value is None:
        return inspect.signature(function).parameters[argument].default is None
    return argument in ("f", "family", "source") and callable(value)


def hostile(name):
    """A value of its own for every call, as a generator is used up."""
    return iter([0.5, 0.5]) if name == "a generator" else HOSTILE[name]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", NAMES)
def test_malformed_arguments(good, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, arguments = bound(name, good[name])
    parameters = inspect.signature(function).parameters.values()
    defaults = {x.name: x.default for x in parameters if x.default is not x.empty and x.name not in HOOKS}
    arguments = defaults | arguments
    function(**arguments)
    wrong, refused = [], 0
    for argument in arguments:
        for what in HOSTILE:
            if allowed(function, argument, value := hostile(what)):
                continue
            try:
                function(**{**arguments, argument: value})
            except (ValueError, l.Intractable, OSError) as error:
                refused += 1
                inner = traceback.extract_tb(error.__traceback__)[-1].filename
                if not isinstance(error, OSError) and (
                    "ldpfrontier" not in inner or not str(error).endswith(".")
                ):
                    wrong.append(f"{argument} = {what}: {error!r} of {inner}")
            except Exception as error:
                wrong.append(f"{argument} = {what}: {error!r}")
        for value in REFUSED.get(argument, ()):
            if repr(value) in WIDER.get((name, argument), ()):
                continue
            with pytest.raises(ValueError, match=r"(?s)[.]$"):
                function(**{**arguments, argument: value})
    assert not wrong
    assert refused > 0
