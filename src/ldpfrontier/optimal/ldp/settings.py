"""Limits, accuracy and tuning of the optima under local differential privacy."""

from __future__ import annotations

from dataclasses import dataclass


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
    #: Entries of a linear program that count: the least that HiGHS can be asked to keep.
    least_lp_entry: float = 1e-12
    #: Size of the utilities in a linear program, which puts the absolute tolerances of HiGHS out of sight.
    lp_utility_size: float = 100.0
    #: Least probability of an output of NR, well above the numbers that underflow.
    least_output_probability: float = 1e-290

    # Tuning. It changes gaps and times alone, never what is true of a bound.
    # Insensitive: with half and twice the value, gaps of mutual information on random priors of 30 and 80
    # inputs stay the same at epsilon from 0.5 to 6.
    #: Rounds of column generation, times k^2, which keeps the time to seconds. Insensitive.
    generation_work: int = 500_000
    #: Sets kept in all steps of a branch and bound together, by effort. Half the widths leave a gap of 2e-9
    #: in place of 1e-9 on these priors.
    pricing_widths: tuple[int, int] = (20_000, 320_000)


SETTINGS = LdpSettings()
