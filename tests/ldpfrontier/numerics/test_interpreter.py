"""What Python does in place of compiled kernels: the same, as long as compiling would take longer."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from ldpfrontier.numerics import interpreter, jit, numba_compiler

SOLVES = """
import json
import numpy as np
from numba.core import event
from ldpfrontier import (MutualInformation, RenyiBall, hamming_leakage, optimal_ldp, optimal_nonrobust,
                         optimal_robust, optimal_unconditional)

class Compiled(event.Listener):
    seen = 0
    def on_start(self, event):
        Compiled.seen += 1
    def on_end(self, event):
        pass

event.register("numba:compile", Compiled())
counts = np.array([[70, 100], [260, 570]])
ball = RenyiBall.confidence(counts, beta=0.05)
optima = [
    *[optimal_robust(ball, 1.0, envelope=envelope) for envelope in ("simplex", "exact")],
    optimal_robust(ball, 2.0, pairs="distinct"),
    optimal_unconditional(counts / counts.sum(), 1.0),
    optimal_nonrobust(counts / counts.sum(), 1.0),
    optimal_ldp(MutualInformation(np.array([0.5, 0.3, 0.2])), 1.0),
]
found = [[best.value, best.bound, best.channel.matrix.tolist()] for best in optima]
found.append([ball.worst_case_epsilon(best.channel) for best in optima[:3]])
print(json.dumps([Compiled.seen, found]))
"""


def solved(interpret: str, cache: str) -> tuple[int, list]:
    environment = {**os.environ, interpreter.VARIABLE: interpret, "OMP_NUM_THREADS": "1"}
    if cache:
        environment["NUMBA_CACHE_DIR"] = cache
    run = subprocess.run([sys.executable, "-c", SOLVES], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


def test_both_find_the_same_numbers(tmp_path):
    """Where nothing has been compiled, nothing is: with the numbers of compiled code, to rounding."""
    compiled, interpreted_numbers = solved("1", str(tmp_path))
    assert compiled == 0
    for one, other in zip(solved("0", "")[1], interpreted_numbers, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-13)


@jit.inner
def halved(x: float) -> float:
    return x / 2.0


def halve_all(x: np.ndarray) -> float:
    for i in range(x.size):
        x[i] = halved(x[i])
    return x[0]


def divided(x: np.ndarray, by: float) -> float:
    x[0] += 1.0
    return 1.0 / by + x[0]


@pytest.fixture
def new(monkeypatch):
    """Return a function that makes kernels of which nothing is kept."""
    monkeypatch.setenv(interpreter.VARIABLE, "1")
    monkeypatch.setattr(numba_compiler, "njit", refuse_to_keep)
    return jit.kernel


def refuse_to_keep(cache: bool = False, **options):
    if cache:
        raise RuntimeError("cannot cache function: no locator available")
    return numba.njit(**options)


def test_small_calls_are_interpreted(new):
    kernel, x = new(halve_all), np.full(3, 8.0)
    found = kernel(x)
    assert (found, type(found)) == (4.0, float)
    assert np.all(x == 4.0)
    assert not kernel.dispatcher.signatures


def test_the_environment_has_all_compiled(new, monkeypatch):
    monkeypatch.setenv(interpreter.VARIABLE, "0")
    kernel = new(halve_all)
    assert kernel(np.full(3, 8.0)) == 4.0
    assert kernel.dispatcher.signatures


@pytest.mark.parametrize("limit", ["_left", "_most"])
def test_what_is_too_long_or_too_large_is_compiled(new, limit):
    kernel, x = new(halve_all), np.full(3, 8.0)
    kernel(x)
    setattr(kernel._interpreted, limit, -1)
    kernel(x)
    assert np.all(x == 2.0)
    assert kernel.dispatcher.signatures


def test_a_call_that_is_given_up_leaves_no_trace(new):
    """The arrays are as they were when the compiled kernel gets them."""
    kernel, x = new(halve_all), np.linspace(1.0, 2.0, 40_000)
    before = x.copy()
    kernel(np.ones(1))
    kernel._interpreted._left = 1e-3
    kernel(x)
    assert np.array_equal(x, before / 2.0)
    assert kernel.dispatcher.signatures


def test_what_python_refuses_is_compiled(new):
    kernel, x = new(divided), np.zeros(1)
    assert kernel(x, 2.0) == 1.5
    assert not kernel.dispatcher.signatures
    assert kernel(x, 0.0) == np.inf
    assert x[0] == 2.0
    assert kernel.dispatcher.signatures


def test_arguments_may_be_named(new):
    kernel = new(divided)
    assert kernel(np.zeros(1), by=2.0) == kernel(by=2.0, x=np.zeros(1)) == 1.5


def test_results_are_numbers_of_python():
    found = interpreter._plain((np.float64(1.5), np.bool_(True), (np.int64(2),)))
    assert [type(part) for part in (*found[:2], *found[2])] == [float, bool, int]
