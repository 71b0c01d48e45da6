"""Bounds over F and its projections above 16 cells, beside the best mechanism of an independent search.

As a program, ``PYTHONPATH=tests:workflow python tests/attack/bounds.py FILE FIRST LAST`` adds a row to a CSV
file for each instance from FIRST up to, but without, LAST, and prints the quantiles of all its rows. Negative
numbers are pairs of Adult.
"""

from __future__ import annotations

import math
import sys
import time
from collections import defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from ldpfrontier.channel import Channel
from ldpfrontier.optimal.ldp.nonrobust import nonrobust_bound
from ldpfrontier.optimal.products.ball_family import BallFamily
from ldpfrontier.optimal.projections.solve import class_bound, mechanism_without_bound
from ldpfrontier.optimal.robust import optimal_robust
from ldpfrontier.uncertainty.renyi_ball import RenyiBall
from oracles.column_search import Cone, Mechanism, best_mechanism, information
from reproduction.data.catalogue import data_set

ADULT = Path(__file__).parents[2] / "resources" / "adult_pair_counts.csv"
SHAPES = (
    (3, 6), (6, 3), (4, 5), (5, 4), (2, 9), (9, 2), (3, 8), (8, 3), (4, 6), (6, 4), (5, 5),
    (5, 6), (4, 8), (8, 4), (6, 6), (5, 8), (7, 7), (8, 8),
)  # fmt: skip
ORDERS = (0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0)
ADULT_PAIRS = (("education", "marital-status"), ("occupation", "education"))
#: A void bound is one that a mechanism exceeds by more than this, relative.
VOID = 1e-9
#: By how much, in nats and as a share of epsilon, the level of a mechanism may be above epsilon.
LEVEL = 1e-12


@dataclass
class Instance:
    """A table with a level and a class of mechanisms; `number` draws it again."""

    number: int
    ball: RenyiBall
    epsilon: float
    envelope: Literal["projections", "exact"]
    pairs: Literal["all", "distinct"]
    people: int
    max_nodes: int


@dataclass
class Row:
    """What came out of an instance."""

    number: int
    sensitive: int
    public: int
    order: float
    people: int
    radius: float
    epsilon: float
    envelope: str
    pairs: str
    max_nodes: int
    library: float
    bound: float
    best: float
    above_level: float
    from_nothing: float
    seconds_library: float
    seconds_search: float

    @property
    def is_void(self) -> bool:
        return self.best > self.bound * (1.0 + VOID) and self.above_level <= LEVEL * min(1.0, self.epsilon)


def random_instance(number: int, most_cells: int = 64) -> Instance:
    """A random table, every fourth one with zero cells, from tiny to wide radii, with a level and a class."""
    rng = np.random.default_rng([32, number])
    shapes = [shape for shape in SHAPES if math.prod(shape) <= most_cells]
    shape = shapes[number % len(shapes)]
    order, epsilon = float(rng.choice(ORDERS)), float(10 ** rng.uniform(-1.0, math.log10(4.0)))
    people = int(10 ** rng.uniform(math.log10(50), 6))
    truth = rng.dirichlet(np.full(math.prod(shape), rng.choice([0.5, 1.0, 3.0])))
    counts = rng.multinomial(people, truth).reshape(shape)
    if number % 4:
        counts = np.maximum(counts, 1)
    else:
        counts[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] += 1
    ball = RenyiBall.confidence(counts, order=order)
    while not math.isfinite(ball.radius):
        counts = counts * 3
        ball = RenyiBall.confidence(counts, order=order)
    envelope: Literal["projections", "exact"] = "exact" if rng.random() < 0.25 else "projections"
    pairs: Literal["all", "distinct"] = (
        "all" if envelope == "projections" and rng.random() < 0.6 else "distinct"
    )
    nodes = int(rng.choice([1_000, 5_000])) if pairs == "distinct" else int(rng.choice([2_000, 20_000]))
    return Instance(number, ball, epsilon, envelope, pairs, int(counts.sum()), nodes)


def adult_instance(number: int) -> Instance:
    """A large pair of Adult; the numbers -1, -2, ... are pairs, levels and classes."""
    adult, rng = data_set("adult"), np.random.default_rng([33, -number])
    pair = ADULT_PAIRS[(-number - 1) % 2]
    counts = np.array(adult.contingency(adult.read(ADULT), *pair).counts)
    epsilon, order = float(rng.choice([0.3, 1.0, 2.0])), float(rng.choice([1.0, 2.0]))
    large = pair == ADULT_PAIRS[1]
    pairs: Literal["all", "distinct"] = "distinct" if -number % 4 == 3 else "all"
    ball = RenyiBall.confidence(counts, order=order)
    return Instance(
        number, ball, epsilon, "projections", pairs, int(counts.sum()), 2_000 if large else 20_000
    )


def cone_of(instance: Instance) -> Cone:
    """The columns of its class."""
    ball = instance.ball
    return Cone(
        np.array(ball.centre), ball.radius, ball.order, instance.epsilon,
        instance.pairs == "distinct", instance.envelope == "exact",
    )  # fmt: skip


def solved(instance: Instance) -> tuple[Channel, float]:
    """The mechanism and the bound of the library; those of the projections are steps of the engine of F."""
    ball, epsilon = instance.ball, instance.epsilon
    if instance.envelope == "exact":
        optimum = optimal_robust(ball, epsilon, envelope="exact", max_nodes=instance.max_nodes)
        return optimum.channel, optimum.bound
    distinct, bound = instance.pairs == "distinct", nonrobust_bound(ball.centre, epsilon)
    inside = BallFamily(ball, epsilon * (1.0 - 1e-9), distinct=distinct)
    channel, _ = mechanism_without_bound(inside, tolerance=1e-7, max_rounds=300)
    if instance.max_nodes:
        family = BallFamily(ball, epsilon, distinct=distinct)
        bound = min(bound, class_bound(family, 1e-4, instance.max_nodes))
    return channel, bound


def attack(instance: Instance, **effort: int) -> tuple[Row, Mechanism]:
    """Bound the class with the library, and search for a mechanism above the bound."""
    ball, shape, cone = instance.ball, instance.ball.centre.shape, cone_of(instance)
    start = time.perf_counter()
    channel, bound = solved(instance)
    middle = time.perf_counter()
    rng = np.random.default_rng([34, abs(instance.number)])
    seeds = channel.matrix.T.reshape(-1, *shape)
    found, alone = best_mechanism(cone, seeds, rng, **effort), math.nan
    if instance.number % 8 == 0 and math.prod(shape) <= 25 and instance.envelope == "projections":
        alone = best_mechanism(cone, np.ones((1, *shape)), rng, **(effort | {"rounds": 16})).value
    end = time.perf_counter()
    row = Row(
        number=instance.number,
        sensitive=shape[0],
        public=shape[1],
        order=ball.order,
        people=instance.people,
        radius=ball.radius,
        epsilon=instance.epsilon,
        envelope=instance.envelope,
        pairs=instance.pairs,
        max_nodes=instance.max_nodes,
        library=float(information(cone.P, seeds).sum()),
        bound=bound,
        best=found.value,
        above_level=found.level - instance.epsilon,
        from_nothing=alone,
        seconds_library=round(middle - start, 1),
        seconds_search=round(end - middle, 1),
    )
    return row, found


def size_class(row: Row) -> str:
    cells = row.sensitive * row.public
    return next((f"up to {most}" for most in (25, 40, 64) if cells <= most), "Adult")


def epsilon_class(row: Row) -> str:
    return "0.1 to 0.5" if row.epsilon < 0.5 else "0.5 to 1.5" if row.epsilon < 1.5 else "1.5 to 4"


def quantiles(rows: list[Row]) -> str:
    """A table in Markdown: bound over best found, by class of mechanisms, size and level."""
    groups = defaultdict(list)
    for row in rows:
        name = row.envelope if row.envelope == "exact" else f"{row.envelope}, {row.pairs}"
        groups[name, size_class(row), epsilon_class(row)].append(row.bound / row.best)
    lines = ["| class | cells | ε | tables | least | 25% | median | 75% | largest |", "|---" * 9 + "|"]
    for key, ratios in sorted(groups.items()):
        numbers = " | ".join(f"{x:.4f}" for x in np.quantile(ratios, [0.0, 0.25, 0.5, 0.75, 1.0]))
        lines.append(f"| {' | '.join(key)} | {len(ratios)} | {numbers} |")
    return "\n".join(lines)


def rows_of(path: Path) -> list[Row]:
    """The rows of a CSV file."""
    return [Row(**record) for record in pd.read_csv(path).to_dict("records")]


def main(path: Path, numbers: list[int]) -> None:
    """Add the rows of some instances to a file, and print the quantiles of all."""
    for number in numbers:
        row, _ = attack(
            random_instance(number) if number >= 0 else adult_instance(number), **effort_of(number)
        )
        pd.DataFrame([asdict(row)]).to_csv(path, mode="a", header=not path.exists(), index=False)
        print("VOID" if row.is_void else "holds", row, flush=True)
    print(quantiles(rows_of(path)))


def effort_of(number: int) -> dict[str, int]:
    """How hard to search: less where a column has more than a hundred cells."""
    return {"starts": 48, "rounds": 8, "steps": 4} if number >= 0 else {"starts": 16, "rounds": 3, "steps": 3}


if __name__ == "__main__":
    main(Path(sys.argv[1]), list(range(*map(int, sys.argv[2:4]))))
