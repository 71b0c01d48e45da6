"""The least error under local differential privacy against the published workload mechanism.

    OMP_NUM_THREADS=1 PYTHONPATH=src python benchmarks/workloads.py CLONE --python ENVIRONMENT/bin/python

McKenna, Maity, Mazumdar and Miklau (A workload-adaptive mechanism for linear queries under local differential
privacy, VLDB 2020) descend along projected gradients on the same error at the uniform distribution, and give
no bound. CLONE is a clone of their code, https://github.com/ryan112358/workload-factorization-mechanism, and
the interpreter is one of an environment with numpy, scipy and autograd: their code runs in processes of its
own, with 4 n outputs and the best of some seeds. Both errors are phi = tr(A M^-1 A') at the uniform
distribution, computed here from the channels.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from ldpfrontier import Channel, estimation_error, ldp_epsilon, local_cone, optimal_estimation
from ldpfrontier.base.types import FloatArray

THEIRS = """
import sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from factorization import factorize_tuned, initialize
W, epsilon, seed, target = np.load(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
np.random.seed(seed)
n = W.shape[1]
np.save(target, factorize_tuned(W, epsilon, initialize(4 * n, n, epsilon), iters=500, verbose=False))
"""


def workloads(n: int) -> dict[str, FloatArray]:
    """Return matrices of what is estimated, (k, n), by name."""
    ranges = [[float(i <= x <= j) for x in range(n)] for i in range(n) for j in range(i, n)]
    made = {"identity": np.eye(n), "prefix sums": np.tri(n), "all ranges": np.array(ranges)}
    bits = (n - 1).bit_length()
    if n == 2**bits and bits >= 3:  # two-way marginals of bits
        cells = (np.arange(n)[:, None] >> np.arange(bits)) & 1
        made["two-way marginals"] = np.array(
            [
                ((cells[:, a] == x) & (cells[:, b] == y)).astype(float)
                for a in range(bits)
                for b in range(a)
                for x in (0, 1)
                for y in (0, 1)
            ]
        )
    return made


def published(clone: Path, python: Path, W: FloatArray, epsilon: float, seeds: int) -> tuple[float, float]:
    """Return the least phi of their mechanism over some seeds, and the seconds of all."""
    n, best, before = W.shape[1], np.inf, time.perf_counter()
    for seed in range(seeds):
        with tempfile.TemporaryDirectory() as folder:
            work, found = Path(folder) / "workload.npy", Path(folder) / "channel.npy"
            np.save(work, W)
            subprocess.run(
                [python, "-c", THEIRS, clone, work, str(epsilon), str(seed), found],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            Q = np.load(found).T
        channel = Channel(Q / Q.sum(axis=1, keepdims=True))
        if ldp_epsilon(channel) > epsilon + 1e-6:
            raise ArithmeticError(f"Their channel has the level {ldp_epsilon(channel)}, not {epsilon}.")
        best = min(best, phi(estimation_error(channel, np.full(n, 1 / n), W), W))
    return best, time.perf_counter() - before


def phi(error: float, W: FloatArray) -> float:
    """Return tr(A M^-1 A') of n MSE at the uniform distribution."""
    return error + float((W.mean(axis=1) ** 2).sum())


def main() -> None:
    """Print a row for each size, workload and level."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("clone", type=Path, help="folder of their code")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--letters", type=int, nargs="+", default=[6, 8, 12, 16, 32, 64])
    parser.add_argument("--epsilon", type=float, nargs="+", default=[0.5, 1.0, 2.0])
    parser.add_argument("--workloads", nargs="+", help="their names; all by default")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    print(
        "| letters | workload | ε | least error | bound | seconds | published | seconds | published / least |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for n in given.letters:
        for name, W in workloads(n).items():
            for epsilon in given.epsilon if name in (given.workloads or [name]) else ():
                before = time.perf_counter()
                best = optimal_estimation(np.full(n, 1 / n), local_cone(n, epsilon), W)
                seconds = time.perf_counter() - before
                ours, bound = phi(best.value, W), phi(best.bound, W)
                theirs, their_seconds = published(given.clone, given.python, W, epsilon, given.seeds)
                print(
                    f"| {n} | {name} | {epsilon:g} | {ours:.5g} | {bound:.5g} | {seconds:.2f} |"
                    f" {theirs:.5g} | {their_seconds:.0f} | {theirs / ours:.3f} |",
                    flush=True,
                )


if __name__ == "__main__":
    main()
