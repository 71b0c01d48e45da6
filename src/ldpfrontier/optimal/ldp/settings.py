"""Limits, accuracy and tuning of the optima under local differential privacy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class LdpSettings:
    """Numbers that the methods of this folder are run with; k is the number of inputs."""

    # Stated limits.
    #: Inputs of an f-divergence: all k^2 blocks are tried, in as much memory.
    max_divergence_inputs: int = 4_000
    #: Inputs of mutual information: each looks at all bins, of which there may be as many.
    max_information_inputs: int = 50_000
    #: Entries of a channel: 80 MB.
    max_channel_entries: int = 10_000_000
    #: Level in nats below which columns are too near to each other for a linear program.
    least_generation_epsilon: float = 1e-4

    # Accuracy and safety.
    #: Relative: likelihood ratios this close are equal, and the ends of a chord may be wrong by as much.
    rounding: float = 4 * float(np.finfo(float).eps)
    #: Entries of a linear program that count: the least that HiGHS can be asked to keep.
    least_lp_entry: float = 1e-12
    #: Size of the utilities in a linear program, which puts the absolute tolerances of HiGHS out of sight.
    lp_utility_size: float = 100.0
    #: Least probability of an output of NR, well above the numbers that underflow.
    least_output_probability: float = 1e-290
    #: Relative amount by which the range of the likelihood ratios of columns is widened.
    range_widening: float = 1e-9
    #: Step of the finite difference that gives the slope of a generator at 1.
    generator_step: float = 1e-4
    #: Half the width, in the log ratio, of a chord that stands for a tangent where a guess is enough.
    tangent_width: float = 1e-6
    #: Log ratio from which on a likelihood leaves no trace in the other, as it is 1e-9 of it.
    max_tangent_log_ratio: float = 20.0
    #: Largest price per unit of P0 + P1 in a linear program, in values of the partition.
    max_unit_price: float = 1e9
    #: Steps of the simplex method, which takes some hundreds.
    max_simplex_steps: int = 2_000
    #: Halvings of an interval after which the search for duals ends; met only where digits fail.
    max_halvings: int = 60

    # Tuning. It changes gaps and times alone, never what is true of a bound.
    # Insensitive: with half and twice the value, gaps of mutual information on random priors of 30 and 80
    # inputs, and of f-divergences on 10, 40 and 150, stay the same at epsilon from 0.5 to 6.
    #: Rounds of column generation, times k^2, which keeps the time to seconds. Insensitive.
    generation_work: int = 500_000
    #: Sets kept in all steps of a branch and bound together, by effort. Half the widths leave a gap of 2e-9
    #: in place of 1e-9 on these priors.
    pricing_widths: tuple[int, int] = (20_000, 320_000)
    # As the following vary, the gap of the f-divergences on 150 inputs is between 1e-10 and 5e-3.
    #: Knots of the price function of more inputs, in all.
    price_knots: int = 96
    #: Fewest and most knots within a block.
    knots_per_block: tuple[int, int] = (4, 16)
    #: Step from the best prices towards the new ones.
    price_step: float = 0.7
    #: Intervals of log ratios that a pricing starts with.
    first_intervals: int = 128


SETTINGS = LdpSettings()
