"""Settings of the search for mechanisms with a conditional level on large tables; tuned on Adult 16 x 7."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ConditionalSettings:
    """Constants of the modules of this folder."""

    # Stated limits.

    #: Cells of a table up to which columns are found jointly, with a certificate; nodes per pricing there, by
    #: default; and the finest relative gap.
    max_joint_cells: int = 16
    joint_nodes: int = 20_000
    joint_tolerance: float = 1e-4
    #: Cells up to which columns are searched for.
    max_cells: int = 400
    #: Levels in nats, orders, and least radius of the uncertainty sets that are solved; elsewhere the
    #: mechanism is secret randomized response.
    epsilons: tuple[float, float] = (0.01, 15.0)
    orders: tuple[float, float] = (0.25, 4.0)
    least_radius: float = 1e-20

    # Linear programs over the cone.

    #: Violation of a cut, relative to the scale P-hat . v = 1, from which on it is added to the program.
    cut_tolerance: float = 1e-5
    #: Cuts of a program, above which those without a multiplier are dropped.
    max_cuts: int = 300
    #: Entries of a column below this count as this large in gradients: the slope of v log v at 0 is -inf.
    gradient_floor: float = 1e-5
    #: Share by which columns are mixed with the constant one beyond what their level asks for.
    mixing_margin: float = 1e-7

    # Search.

    #: Programs of one ascent, and ascents of a round.
    max_steps: int = 5
    starts: int = 24
    #: Rounds, where the caller allows as many.
    rounds: int = 60
    #: Random starts of each of the first rounds, and log-scale of their values for each u.
    random_starts: tuple[int, ...] = (30, 30, 30, 8, 8, 8)
    random_scale: float = 1.5
    #: Largest conditional level of random starts, in nats.
    random_level: float = 3.0
    #: First step length tau of the proximal program, and its growth from some round on, to a largest one:
    #: short steps find good duals, long ones columns that make up a mechanism.
    first_tau: float = 8.0
    tau_growth: float = 1.5
    growth_round: int = 12
    max_tau: float = 1e4
    #: Least weight P_x of an input in the proximal distance, times the number of inputs.
    metric_floor: float = 0.1
    #: Entropy of the inputs as first duals, times this.
    first_duals: float = 0.3
    #: Columns kept in the proximal program, per input.
    kept_per_input: int = 8
    #: Accuracy of the proximal program, relative to its value.
    proximal_accuracy: float = 1e-4

    # Bounds.

    #: Levels above which the bound by mechanisms that see u alone is not looked for, in nats.
    max_bounded_level: float = 10.0
    #: Useful values up to which mechanisms that see u alone are solved with a certificate, and its tolerance.
    max_public_values: int = 16
    public_tolerance: float = 1e-3
    public_rounds: int = 40


SETTINGS = ConditionalSettings()
